package unusual

import (
	"fmt"
	"io"
	"strconv"

	"liftstream/model"
	"liftstream/model/report/text"
)

// PrintPart prints the usual values of the features in a part of a model.
func PrintPart(w io.Writer, s *model.Schema, raw []byte) error {
	p, err := decode(s, raw)
	if err != nil || p == nil {
		return err
	}
	var rows [][]string
	for i := range p.usual {
		x, u := &s.Features[i], &p.usual[i]
		if x.Use != model.UseScore {
			continue
		}
		low, high, levels, missing := "", "", "", "too few records"
		if u.says {
			if missing = "unusual"; u.missing {
				missing = "usual"
			}
			switch {
			case x.Kind != model.Continuous:
				levels = strconv.Itoa(len(u.cells))
			case u.low <= u.high:
				low, high = text.Number(u.low), text.Number(u.high)
			}
		}
		rows = append(rows, []string{x.Name, low, high, levels, missing})
	}
	fmt.Fprintf(w, "\nUnusual are other values than these, of at most %s of ordinary records (%s learnt):\n",
		text.Percent(p.share), text.Count(p.records, "record"))
	return text.Table(w, "", []string{"feature", " from", " to", " levels", "missing"}, rows)
}
