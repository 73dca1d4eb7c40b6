package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// Evaluation prints the result of eval on the files data: the methods side by side, in the given order, then the
// baselines, the gains, the groups, the learning curve, the drift, the alarms and the gate, as far as there are any.
func Evaluation(w io.Writer, data, methods []string, run evaluate.Run, r *evaluate.Result) error {
	fmt.Fprintf(w, "%s of %s: %s, %d scored and counted", r.Protocol, text.Joined(data),
		text.Count(int(r.Records), "record"), r.Scored)
	if r.Positive != "" {
		fmt.Fprintf(w, ", positive class %s", r.Positive)
	}
	if r.Delay > 0 {
		fmt.Fprintf(w, ", labels %s late", text.Count(r.Delay, "record"))
	}
	if r.Partitions > 1 {
		fmt.Fprintf(w, ", %d partitions", r.Partitions)
	}
	fmt.Fprint(w, "\n\n")
	if err := evaluationMetrics(w, methods, r); err != nil {
		return err
	}
	for _, section := range []func(io.Writer, *evaluate.Result) error{
		evaluationGoals, evaluationBaselines, evaluationGains, evaluationUplift, evaluationIntervals, evaluationImportance,
		evaluationGroups, evaluationCurve, evaluationPoints, evaluationDrift, evaluationAlarms, evaluationGate,
	} {
		if err := section(w, r); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	if run.Fits > 0 {
		fmt.Fprintf(w, "%s", text.Count(run.Fits, "fit"))
		if run.Refused > 0 {
			fmt.Fprintf(w, ", %d more refused by the gate", run.Refused)
		}
		if s := r.Stability; !math.IsNaN(float64(s.MeanChange)) {
			fmt.Fprintf(w, "; a re-fit moved propensities by %s on average, and %s of the segments",
				text.Decimals(s.MeanChange, 4), text.Percent(s.SegmentChanged))
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "%.0f records/s, reading included\n", float64(r.RecordsPerSecond))
	return err
}

// beyond begins the names of the figures that need baselines.
const beyond = "  beyond "

// figures are the first rows of the table of methods.
var figures = []struct {
	name string
	text func(m *evaluate.Metrics) string
}{
	{"log-loss", figure(func(m *evaluate.Metrics) evaluate.Number { return m.LogLoss })},
	{"  95 % interval", func(m *evaluate.Metrics) string { return interval(m.LogLossInterval) }},
	{"AUC", figure(func(m *evaluate.Metrics) evaluate.Number { return m.AUC })},
	{"Gini", figure(func(m *evaluate.Metrics) evaluate.Number { return m.Gini })},
	{"  95 % interval", func(m *evaluate.Metrics) string { return interval(m.GiniInterval) }},
	{"AUC inside blocks", figure(func(m *evaluate.Metrics) evaluate.Number { return m.AUCBlocks })},
	{"average precision", figure(func(m *evaluate.Metrics) evaluate.Number { return m.AveragePrecision })},
	{"Brier", figure(func(m *evaluate.Metrics) evaluate.Number { return m.Brier })},
	{"accuracy", figure(func(m *evaluate.Metrics) evaluate.Number { return m.Accuracy })},
	{"  standard error", figure(func(m *evaluate.Metrics) evaluate.Number { return m.AccuracyError })},
	{"kappa", figure(func(m *evaluate.Metrics) evaluate.Number { return m.Kappa })},
	{beyond + "no change", figure(func(m *evaluate.Metrics) evaluate.Number { return m.KappaTemporal })},
	{beyond + "majority", figure(func(m *evaluate.Metrics) evaluate.Number { return m.KappaMajority })},
	{"KS", figure(func(m *evaluate.Metrics) evaluate.Number { return m.KS })},
	{"calibration error", figure(func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationError })},
	{"  slope", figure(func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationSlope })},
	{"  intercept", figure(func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationIntercept })},
}

func figure(of func(m *evaluate.Metrics) evaluate.Number) func(m *evaluate.Metrics) string {
	return func(m *evaluate.Metrics) string { return text.Decimals(of(m), 4) }
}

// evaluationMetrics prints one column a method, and the differences from the method all.
func evaluationMetrics(w io.Writer, methods []string, r *evaluate.Result) error {
	heading := []string{""}
	var columns []*evaluate.Metrics
	var against []*evaluate.Difference
	for _, method := range methods {
		if m, ok := r.Methods[method]; ok {
			heading = append(heading, " "+method)
			columns = append(columns, m)
			against = append(against, r.Against[method])
		}
	}
	var rows [][]string
	row := func(name string, value func(m *evaluate.Metrics) string) {
		cells := []string{name}
		for _, m := range columns {
			cells = append(cells, value(m))
		}
		rows = append(rows, cells)
	}
	for _, f := range figures {
		if r.Baselines != nil || !strings.HasPrefix(f.name, beyond) {
			row(f.name, f.text)
		}
	}
	shares := map[string]bool{}
	for _, m := range columns {
		for s := range m.LiftAt {
			shares[s] = true
		}
	}
	for _, s := range sorted(shares) {
		share, err := strconv.ParseFloat(s, 64)
		if err != nil {
			continue
		}
		row(fmt.Sprintf("lift in the top %g %%", share*100), func(m *evaluate.Metrics) string {
			v, ok := m.LiftAt[s]
			if !ok {
				return "-"
			}
			return text.Decimals(v, 2)
		})
	}
	row("features a record", func(m *evaluate.Metrics) string { return text.Decimals(m.MeanSubspace, 1) })
	share := func(n, all int64) string {
		if all == 0 {
			return "-"
		}
		return text.Percent(float64(n) / float64(all))
	}
	row("reasons with a lift", func(m *evaluate.Metrics) string { return share(m.Reasons, m.Reasons+m.Untold) })
	row("  of these against it", func(m *evaluate.Metrics) string { return share(m.Conflicts, m.Reasons) })
	if r.Methods[evaluate.MethodAll] != nil && len(columns) > 1 {
		difference, bounds := []string{"log-loss of all less this"}, []string{"  95 % interval"}
		for i := range columns {
			if d := against[i]; d != nil {
				difference, bounds = append(difference, text.Decimals(d.LogLoss, 4)), append(bounds, interval(d.Interval))
			} else {
				difference, bounds = append(difference, ""), append(bounds, "")
			}
		}
		rows = append(rows, difference, bounds)
	}
	return text.Table(w, "", heading, rows)
}

// evaluationBaselines prints the accuracies that the last two kappas are beyond.
func evaluationBaselines(w io.Writer, r *evaluate.Result) error {
	if r.Baselines == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nAccuracy without features: the newest known label (no change) %s, the most frequent one "+
		"(majority) %s\n", text.Decimals(r.Baselines.NoChange, 4), text.Decimals(r.Baselines.Majority, 4))
	return err
}

func evaluationGains(w io.Writer, r *evaluate.Result) error {
	if len(r.Gains) == 0 {
		return nil
	}
	var rows [][]string
	for _, g := range r.Gains {
		if g.Share > 0.505 {
			break
		}
		row := []string{fmt.Sprintf("%.0f %%", g.Share*100), text.Number(g.N), text.Number(g.Positives),
			text.Percent(g.Capture), text.Decimals(g.Lift, 2), between(g.LiftInterval, 2), text.Decimals(g.MeanPropensity, 3)}
		if g.Profit != nil {
			row = append(row, text.Decimals(*g.Profit, 0), between(*g.ProfitInterval, 0))
		}
		rows = append(rows, row)
	}
	heading := []string{" top", " records", " positives", " of all", " lift", "95 % interval", " propensity"}
	if r.Profit != nil {
		heading = append(heading, " profit", "95 % interval")
	}
	fmt.Fprintf(w, "\nGains: the records of the highest propensity\n")
	if err := text.Table(w, "", heading, rows); err != nil || r.Profit == nil {
		return err
	}
	p := r.Profit
	best := "talking to nobody is best, by these labels"
	if p.BestProfit > 0 {
		best = fmt.Sprintf("at best, by these labels: %s of the top %s", text.Decimals(p.BestProfit, 0),
			text.Percent(p.Best))
	}
	_, err := fmt.Fprintf(w, "profit at %s a hit and %s a contact: %s %s of the top %s, whose propensities pay; %s of "+
		"everybody\n%s\n", text.Number(p.Hit), text.Number(p.Contact),
		text.Decimals(p.PayingProfit, 0), between(p.PayingInterval, 0), text.Percent(p.Paying), text.Decimals(p.All, 0),
		best)
	return err
}

// between writes an interval with so many decimals.
func between(i evaluate.Interval, n int) string {
	return inBrackets(i, func(f evaluate.Number) string { return text.Decimals(f, n) })
}

func evaluationUplift(w io.Writer, r *evaluate.Result) error {
	u := r.Uplift
	if u == nil {
		return nil
	}
	fmt.Fprintf(w, "\nUplift: the effect of the treatment on the rate of %s is %s, %s as estimated; Qini %s +- %s\n"+
		"%s treated, %s untreated, %d left out, whose propensity is that of either alone\n", r.Positive,
		text.Decimals(u.Effect, 4), text.Decimals(u.Mean, 4), text.Decimals(u.Qini, 3), text.Decimals(u.QiniError, 3),
		text.Count(u.Treated, "record"), text.Count(u.Untreated, "record"), u.LeftOut)
	var rows [][]string
	for _, p := range u.Curve {
		rows = append(rows, []string{fmt.Sprintf("%.0f %%", p.Share*100), text.Decimals(p.Gain, 4)})
	}
	return text.Table(w, "", []string{" treated first", " gain"}, rows)
}

func evaluationCurve(w io.Writer, r *evaluate.Result) error {
	if len(r.Curve) <= 1 {
		return nil
	}
	var rows [][]string
	parted := false
	for _, p := range r.Curve {
		mark := ""
		if p.Parted {
			mark, parted = "!", true
		}
		rows = append(rows, []string{strconv.FormatInt(p.Records, 10), text.Decimals(p.LogLoss, 4),
			text.Decimals(p.ExpectedLogLoss, 4), mark, text.Decimals(p.AUC, 4), text.Decimals(p.ExpectedAUC, 4)})
	}
	fmt.Fprintf(w, "\nLearning curve: the records since the line before, and what their propensities promised before "+
		"any label\n")
	err := text.Table(w, "", []string{" up to", " log-loss", " promised", "", " AUC", " promised"}, rows)
	if parted && err == nil {
		_, err = fmt.Fprintln(w, "! the labels contradict the propensities: calibrated ones differ so far in less than "+
			"one stream of twenty")
	}
	return err
}

// evaluationPoints prints the places where the log-loss changed.
func evaluationPoints(w io.Writer, r *evaluate.Result) error {
	if len(r.DriftPoints) == 0 {
		return nil
	}
	var rows [][]string
	for _, p := range r.DriftPoints {
		rows = append(rows, []string{strconv.FormatInt(p.Since, 10), strconv.FormatInt(p.At, 10),
			text.Decimals(p.Before, 4), text.Decimals(p.After, 4)})
	}
	fmt.Fprintf(w, "\nDrift points: where the log-loss changed (ADWIN), and its mean until the next point\n")
	return text.Table(w, "", []string{" since record", " found at", " before", " after"}, rows)
}

// evaluationDrift prints the features that moved most.
func evaluationDrift(w io.Writer, r *evaluate.Result) error {
	var rows [][]string
	for _, d := range r.Drift {
		if d.Moved() && len(rows) < 8 {
			rows = append(rows, []string{d.Feature, text.Decimals(d.PSI, 2), strconv.FormatInt(d.At, 10),
				text.Decimals(d.Last, 2), largestPart(d.Cells)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nDrift: what moved most since the first %d records (population stability index; .1 a shift, .25 a "+
		"large one)\n", r.DriftRecords)
	return text.Table(w, "", []string{"", " largest", " at record", " last", "most of it"}, rows)
}

// largestPart tells of the cell that makes up most of an index how its share moved; "" without cells.
func largestPart(cells []evaluate.DriftCell) string {
	if len(cells) == 0 {
		return ""
	}
	x := slices.MaxFunc(cells, func(a, b evaluate.DriftCell) int { return cmp.Compare(a.Part, b.Part) })
	return fmt.Sprintf("%s: %s to %s", x.Cell, text.Percent(x.Expected), text.Percent(x.Actual))
}

// evaluationAlarms prints the first alarm of each column, in the order of the stream.
func evaluationAlarms(w io.Writer, r *evaluate.Result) error {
	const most = 12
	type kind struct{ feature, kind string }
	var rows [][]string
	row := map[kind]int{}
	times := map[kind]int{}
	for _, a := range r.Alarms {
		k := kind{a.Feature, a.Kind}
		if times[k]++; times[k] == 1 && len(rows) < most {
			row[k] = len(rows)
			rows = append(rows, []string{a.Feature, strings.ReplaceAll(a.Kind, "_", " "), strconv.FormatInt(a.At, 10),
				text.Decimals(a.PSI, 2), text.Decimals(a.LogLoss, 4), text.Decimals(a.Threshold, 2), ""})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for k, i := range row {
		rows[i][6] = strconv.Itoa(times[k])
	}
	fmt.Fprintf(w, "\nAlarms of drift: %d; the first of each column and kind (by chance: one in 100 streams of 100,000 "+
		"records)\n", len(r.Alarms))
	return text.Table(w, "", []string{"", "", " at record", " index", " log-loss", " threshold", " alarms"}, rows)
}

// evaluationGate prints the verdicts on the models of the first method that fits any.
func evaluationGate(w io.Writer, r *evaluate.Result) error {
	var rows [][]string
	for _, f := range r.Fits {
		if f.Method == r.Fits[0].Method {
			rows = append(rows, []string{strconv.FormatInt(f.Learnt, 10), f.Reason, text.Decimals(f.LogLoss, 4),
				text.Decimals(f.Serving, 4), signed(f.Difference), signedInterval(f.Interval), strconv.Itoa(f.Records)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nGate: models of %s on records that neither they nor the serving model had learnt; worse than it "+
		"by more than %s is refused\n", r.Fits[0].Method, strconv.FormatFloat(float64(r.Fits[0].Gate), 'g', -1, 64))
	return text.Table(w, "", []string{" labelled", "verdict", " log-loss", " serving", " difference", "95 % interval",
		" records"}, rows)
}
