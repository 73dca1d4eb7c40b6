package show

import (
	"fmt"
	"io"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// Challengers prints each further configuration beside the first, method by method in the given order: their figures,
// and the differences with paired intervals. It prints nothing where there is none.
func Challengers(w io.Writer, first string, methods []string, r *evaluate.Result) error {
	for _, c := range r.Challengers {
		fmt.Fprintf(w, "\n%s against %s, on the same records: the first less the second, with paired intervals\n", first,
			c.Config)
		var rows [][]string
		for _, method := range methods {
			p := c.Against[method]
			if p == nil {
				continue
			}
			a, b := r.Methods[method], c.Result.Methods[method]
			row := func(name string, x, y, d evaluate.Number, bounds string) {
				rows = append(rows, []string{method, name, text.Decimals(x, 4), text.Decimals(y, 4), signed(d), bounds})
			}
			row("log-loss", a.LogLoss, b.LogLoss, p.LogLoss, signedInterval(p.LogLossInterval))
			row("Brier", a.Brier, b.Brier, p.Brier, signedInterval(p.BrierInterval))
			row("accuracy", a.Accuracy, b.Accuracy, p.Accuracy, signedInterval(p.AccuracyInterval))
			row("AUC", a.AUC, b.AUC, a.AUC-b.AUC, "-")
		}
		if err := text.Table(w, "", []string{"method", "", " first", " second", " difference", "95 % interval"},
			rows); err != nil {
			return err
		}
	}
	return nil
}
