package records

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"liftstream/codec/number"
)

// TestDescribedFindsHowNumbersAreWritten: one format for the file, columns of numbers by it rewritten plainly, and a
// remark where columns contradict each other.
func TestDescribedFindsHowNumbersAreWritten(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          number.Format
		columns       []string
		remarks       int
		row           string
	}{
		{"plain", "a,b,y\n1.5,x,no\n2,y,yes\n", number.Format{}, nil, 0, "1.5 x no"},
		{"a long text", "a,b,y\n1.5," + strings.Repeat("x", 5000) + ",no\n2,y,yes\n", number.Format{}, nil, 0,
			"1.5 " + strings.Repeat("x", longest) + " no"},
		{"a long text of wide characters", "a,b,y\n1.5," + strings.Repeat("漢", 2000) + ",no\n2,y,yes\n", number.Format{},
			nil, 0, "1.5 " + strings.Repeat("漢", longest/3) + " no"},
		{"the last character ends at the bound", "a,b,y\n1.5,xx" + strings.Repeat("ä", 2000) + ",no\n2,y,yes\n",
			number.Format{}, nil, 0, "1.5 xx" + strings.Repeat("ä", (longest-2)/2) + " no"},
		{"german", "a;b;y\n1.234,5;12 %;no\nNA;3,5 %;yes\n-2;;yes\n",
			number.Format{Decimal: ",", Thousands: ".", Percent: true}, []string{"a", "b"}, 0, "1234.5 0.12 no"},
		{"currency", "a,b,y\n\"$1,200.50\",x,no\n$3,y,yes\n", number.Format{Thousands: ",", Currency: []string{"$"}},
			[]string{"a"}, 0, "1200.5 x no"},
		{"ambiguous", "a;y\n1,234;no\n2,500;yes\n", number.Format{Thousands: ","}, []string{"a"}, 1, "1234 no"},
		{"a plain column beside", "a;b;y\n1,5;1.5;no\n2,5;2.5;yes\n", number.Format{}, nil, 1, "1,5 1.5 no"},
		{"whole numbers beside", "a;b;y\n1,5;1;no\n2,5;2;yes\n", number.Format{Decimal: ","}, []string{"a"}, 0, "1.5 1 no"},
		{"two formats", "a;b;y\n1,5;1'234.5;no\n2,25;2'500.5;yes\n", number.Format{Decimal: ","}, []string{"a"}, 1,
			"1.5 1'234.5 no"},
		{"texts with numbers", "a;y\n100% wool;no\n50% cotton;yes\n", number.Format{}, nil, 0, "100% wool no"},
		{"the label", "a;y\n1;1,5\n2;2,5\n", number.Format{}, nil, 0, "1 1,5"},
	} {
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		table, w, err := Described(context.Background(), path, nil, "y")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(w.Format, c.want) || !reflect.DeepEqual(w.Columns, c.columns) || len(w.Remarks) != c.remarks {
			t.Errorf("%s: %+v", c.name, w)
		}
		for row, err := range table.Rows {
			if got := strings.Join(row, " "); err != nil || got != c.row {
				t.Errorf("%s: the first record is %q, want %q (%v)", c.name, got, c.row, err)
			}
			break
		}
	}
}
