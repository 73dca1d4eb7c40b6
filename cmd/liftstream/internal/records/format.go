package records

import (
	"fmt"
	"slices"
	"strings"

	"liftstream/codec/number"
	"liftstream/model"
)

const (
	formatRows  = 2000 // records that a format is looked for in
	formatShare = .98  // of the texts of a column that are numbers by a format
)

// Written says how the numbers of a data file are written where they are texts that are no plain numbers.
type Written struct {
	Format  number.Format
	Columns []string // that are numbers by the format only
	Remarks []string // for the owner of the data
}

// written looks for one format for a sample of the texts of each column; those of skip stay as they are.
func written(columns []string, samples [][]string, skip []string) Written {
	w := Written{}
	var plain, taken []int
	for c, name := range columns {
		texts := samples[c]
		if len(texts) == 0 || slices.Contains(skip, name) {
			continue
		}
		d := number.Detect(texts)
		switch {
		case float64(d.Read) < formatShare*float64(len(texts)):
		case d.Format.Plain():
			plain = append(plain, c)
		default:
			f, ok := number.Join(w.Format, d.Format)
			ok = ok && same(f, d.Format, texts)
			for _, k := range taken {
				ok = ok && same(f, w.Format, samples[k])
			}
			if !ok {
				w.Remarks = append(w.Remarks, fmt.Sprintf("%s: its numbers are written as %s, those of %s as %s; a configuration "+
					"states one format", name, d.Format, strings.Join(w.Columns, ", "), w.Format))
				continue
			}
			w.Format, w.Columns, taken = f, append(w.Columns, name), append(taken, c)
			if d.Ambiguous {
				w.Remarks = append(w.Remarks, fmt.Sprintf("%s: %q is taken for a number written as %s, and may be meant otherwise",
					name, texts[0], d.Format))
			}
		}
	}
	for _, c := range plain {
		if len(w.Columns) > 0 && !same(w.Format, number.Format{}, samples[c]) {
			return Written{Remarks: append(w.Remarks, fmt.Sprintf("%s: the numbers are written as %s and those of %s "+
				"plainly; a configuration states one format, so the former are texts", strings.Join(w.Columns, ", "), w.Format,
				columns[c]))}
		}
	}
	return w
}

// same reports whether the numbers among texts by format g are the same by f.
func same(f, g number.Format, texts []string) bool {
	for _, t := range texts {
		v, ok := g.Parse([]byte(t))
		if got, also := f.Parse([]byte(t)); ok && (!also || got != v) {
			return false
		}
	}
	return true
}

// plain rewrites a cell of a column of numbers by the format; a text that is none stays.
func (w *Written) plain(cell string) string {
	if v, ok := w.Format.Parse([]byte(cell)); ok && v-v == 0 {
		return string(model.AppendNumber(nil, v, 64))
	}
	return cell
}

// sample returns texts of the first records by column, without texts that may mean missing.
func (x *texts) sample() (samples [][]string, err error) {
	samples = make([][]string, len(x.columns))
	n := 0
	for row, err := range x.rows {
		if err != nil {
			return nil, err
		}
		for c, cell := range row {
			if cell = strings.Trim(cell, " \t"); strings.ContainsAny(cell, "0123456789") {
				samples[c] = append(samples[c], strings.Clone(cell))
			} else if len(cell) > 3 {
				samples[c] = append(samples[c], "text")
			}
		}
		if n++; n == formatRows {
			break
		}
	}
	return samples, nil
}
