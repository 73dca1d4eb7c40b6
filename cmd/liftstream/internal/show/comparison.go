package show

import (
	"fmt"
	"io"
	"strconv"

	"liftstream/cmd/liftstream/internal/compare"
	"liftstream/model/report/text"
)

// Comparison prints the answer of compare: the records, the log-losses with the interval and the verdict, the
// calibration by tenths and the overlap of the top tenths.
func Comparison(w io.Writer, r *compare.Result) error {
	n := &r.Counts
	fmt.Fprintf(w, "%s against %s: %s scored by both, %d of them with a label\n", r.First, r.Second,
		text.Count(int(n.Both), "record"), n.Labelled)
	for _, c := range []struct {
		n    int64
		what string
	}{
		{n.Late, "labels came by the labels topic"}, {n.Expired, "count as the class of labels.on_expiry"},
		{n.Waiting, "wait for their labels"}, {n.Dropped, "wait for their labels no more"},
		{n.FirstOnly, "were scored by " + r.First + " alone"}, {n.SecondOnly, "were scored by " + r.Second + " alone"},
	} {
		if c.n > 0 {
			fmt.Fprintf(w, "  %d %s\n", c.n, c.what)
		}
	}
	fmt.Fprintln(w)
	sure := strconv.FormatFloat(100*(1-r.Alpha), 'g', 6, 64)
	if err := text.Table(w, "", []string{"", " " + r.First, " " + r.Second, " difference", sure + " % interval"},
		[][]string{{"log-loss", text.Decimals(r.LogLoss.First, 4), text.Decimals(r.LogLoss.Second, 4), signed(r.Difference),
			signedInterval(r.Interval)}}); err != nil {
		return err
	}
	verdict := "none yet: the interval holds 0"
	switch {
	case r.Counted == 0:
		verdict = "none yet: no record has both scores and a label"
	case r.Verdict == "first":
		verdict = r.First + " is better"
	case r.Verdict == "second":
		verdict = r.Second + " is better"
	}
	fmt.Fprintf(w, "verdict: %s (the interval holds at every look)\n", verdict)
	if r.Class == "" || r.Sampled == 0 {
		return nil
	}
	of := ""
	if int64(r.Sampled) < n.Both {
		of = fmt.Sprintf(", of %d records by hash", r.Sampled)
	}
	if len(r.Calibration[0]) > 0 {
		fmt.Fprintf(w, "\nCalibration: tenths by the propensity for “%s”, and the share of it%s\n", r.Class, of)
		var rows [][]string
		for i := len(r.Calibration[0]) - 1; i >= 0; i-- {
			a, b := r.Calibration[0][i], r.Calibration[1][i]
			rows = append(rows, []string{strconv.Itoa(10 - i), strconv.Itoa(a.Records), text.Decimals(a.Propensity, 4),
				text.Decimals(a.Share, 4), text.Decimals(b.Propensity, 4), text.Decimals(b.Share, 4)})
		}
		if err := text.Table(w, "", []string{" tenth", " records", " " + r.First, " share", " " + r.Second, " share"},
			rows); err != nil {
			return err
		}
	}
	t := r.Top
	_, err := fmt.Fprintf(w, "\nTop tenth: %s each, %d in both (%s)%s; %s and %s times the share of “%s” among all\n",
		text.Count(t.Records, "record"), t.Both, text.Percent(t.Share), of, text.Decimals(t.Lift.First, 2),
		text.Decimals(t.Lift.Second, 2), r.Class)
	return err
}
