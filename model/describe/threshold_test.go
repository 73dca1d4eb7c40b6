package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
)

// TestRareLevelsOfNoiseTellNothing: a column of many levels that have a few records each ranks no records by heart.
func TestRareLevelsOfNoiseTellNothing(t *testing.T) {
	for _, levels := range []int{300, 900} {
		t.Run(fmt.Sprint(levels, " levels"), func(t *testing.T) {
			rows := make([][]string, 4000)
			for i := range rows {
				shop := fmt.Sprint("s", int(float64(levels)*uniform(4, i, 0)))
				rows[i] = []string{shop, strconv.Itoa(int(100 * uniform(4, i, 1))), []string{"no", "yes"}[int(2*uniform(4, i, 2))]}
			}
			d := describe(t, table([]string{"shop", "x", "y"}, rows), Options{Label: "y"})
			if auc := d.column(t, "shop").AUC; !(math.Abs(auc-.5) < .03) {
				t.Errorf("noise has an AUC of %v", auc)
			}
		})
	}
}

// TestTimesAfterTheRecordAreFlaggedFromOneInAHundred: such a time is a warning from a hundredth of the records on.
func TestTimesAfterTheRecordAreFlaggedFromOneInAHundred(t *testing.T) {
	const n = 3000
	for _, c := range []struct {
		later int
		want  []string
	}{{0, nil}, {3, nil}, {29, nil}, {30, []string{"closed_at"}}} {
		rows := make([][]string, n)
		for i := range rows {
			at := 1700000000 + 60*i
			closed := at - 500
			if i%100 == 7 && i/100 < c.later {
				closed = at + 500
			}
			x, y := strconv.Itoa(int(100*uniform(8, i, 0))), []string{"no", "yes"}[int(2*uniform(8, i, 1))]
			rows[i] = []string{strconv.Itoa(at), strconv.Itoa(closed), x, y}
		}
		d := describe(t, table([]string{"seen_at", "closed_at", "x", "y"}, rows), Options{Label: "y", Time: "seen_at"})
		if got := flags(d); !slices.Equal(got, c.want) {
			t.Errorf("a time after the record's own in %d of %d: flags %q, want %q", c.later, n, got, c.want)
		}
	}
}
