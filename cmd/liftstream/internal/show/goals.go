package show

import (
	"fmt"
	"io"
	"strconv"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// evaluationGoals prints one line for each goal beside the label.
func evaluationGoals(w io.Writer, r *evaluate.Result) error {
	if len(r.Goals) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nGoals: further labels, learnt beside the label from the same records\n")
	heading := []string{"", "records", "base rate", "log-loss", "95 % interval", "AUC", "in blocks", "calibration error"}
	var rows [][]string
	for _, g := range r.Goals {
		rows = append(rows, []string{g.Goal, strconv.Itoa(g.Records), text.Decimals(g.BaseRate, 4),
			text.Decimals(g.LogLoss, 4), interval(g.LogLossInterval), text.Decimals(g.AUC, 4),
			text.Decimals(g.AUCBlocks, 4), text.Decimals(g.CalibrationError, 4)})
	}
	return text.Table(w, "", heading, rows)
}
