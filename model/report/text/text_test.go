package text

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestLiftIsToldApartFromOne: a bound of a confirmed profile that lies just above 1 does not read as 1.
func TestLiftIsToldApartFromOne(t *testing.T) {
	for _, x := range []struct {
		lift     float64
		decimals int
		want     string
	}{
		{2.44, 1, "2.4"}, {1, 1, "1.0"}, {1, 2, "1.00"}, {0, 2, "0.00"},
		{1.04, 1, "1.04"}, {1.0041, 1, "1.004"}, {1.0041, 2, "1.004"}, {1.00049, 2, "1.0005"}, {1.05, 2, "1.05"},
		{0.96, 1, "0.96"}, {0.94, 1, "0.9"}, {0.9996, 2, "0.9996"},
		{1 + 1e-12, 2, "1.000000000"}, // a rounding error
		{math.NaN(), 2, "-"}, {math.Inf(1), 2, "-"},
	} {
		if got := Lift(x.lift, x.decimals); got != x.want {
			t.Errorf("%v with %d decimals is %s, want %s", x.lift, x.decimals, got, x.want)
		}
	}
}

// TestTexts has the boundaries of each text, whose callers show them to people without a look.
func TestTexts(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, x := range []struct{ got, want string }{
		{Count(0, "set"), "0 sets"}, {Count(1, "set"), "1 set"}, {Count(2, "set"), "2 sets"},
		{Some(nil, 2), ""}, {Some(abc, 3), "a, b, c"}, {Some(abc, 2), "a, b and 1 more"}, {Some(abc, 1), "a and 2 more"},
		{Joined(abc), "a, b, c"}, {Joined(append(abc, "d")), "a and 3 more files"}, {Joined(abc[:1]), "a"},
		{Number(3.), "3"}, {Number(-3.), "-3"}, {Number(1e14), "100000000000000"}, {Number(1e15), "1e+15"},
		{Number(2.5), "2.5"}, {Number(1234.5678), "1234.57"}, {Number(0.), "0"}, {Number(math.NaN()), "NaN"},
		{Decimals(1.25, 1), "1.2"}, {Decimals(-1., 2), "-1.00"}, {Decimals(0.005, 0), "0"},
		{Decimals(math.NaN(), 3), "-"}, {Decimals(math.Inf(-1), 3), "-"},
		{Percent(.0725), "7.2 %"}, {Percent(1.), "100.0 %"}, {Percent(math.NaN()), "- %"},
		{Rate(1000, 2*time.Second), "500/s"}, {Rate(int64(3), 500*time.Millisecond), "6/s"}, {Rate(1, 0), "1000000000/s"},
		{Bytes(0), "0 B"}, {Bytes(10<<10 - 1), "10239 B"}, {Bytes(10 << 10), "10 KiB"}, {Bytes(10<<20 - 1), "10239 KiB"},
		{Bytes(10 << 20), "10 MiB"}, {Bytes(3 << 30), "3072 MiB"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

// TestTable: columns are as wide as their widest cell in characters, those of a heading with a space before it stand at
// the right, no line ends in spaces, and an error of the writer comes back.
func TestTable(t *testing.T) {
	var b strings.Builder
	rows := [][]string{{"1", "é", "-"}, {"1000", "b", "5 %"}, {"", "", ""}}
	err := Table(&b, "  ", []string{" n", "name", " share"}, rows)
	const want = "     n  name  share\n     1  é         -\n  1000  b       5 %\n\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s, want\n%s", err, b.String(), want)
	}
	if err := Table(full{}, "", []string{"a"}, [][]string{{"b"}}); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
