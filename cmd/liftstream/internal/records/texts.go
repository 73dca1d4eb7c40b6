package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/describe"
)

// longest is the number of bytes of a text that are looked at. A dictionary holds a text once, and its rows may repeat
// megabytes of it: a file of a kilobyte would take hours.
const longest = 1 << 10

// beginning is the first part of a text, up to longest bytes and whole characters.
func beginning(text string) string {
	if len(text) <= longest {
		return text
	}
	n := longest
	for n > longest-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Described is a data file as package describe reads it, and how its numbers are written; skip names columns that hold
// none.
func Described(ctx context.Context, path string, bar func(bytes int64), skip ...string) (describe.Table, Written,
	error) {
	columns, formats, err := columnsOf(path)
	if err != nil {
		return describe.Table{}, Written{}, err
	}
	look := texts{ctx: ctx, path: path, columns: columns}
	samples, err := look.sample()
	if err != nil {
		return describe.Table{}, Written{}, err
	}
	w := written(columns, samples, skip)
	t := texts{ctx: ctx, path: path, columns: columns, bar: bar, written: &w, number: make([]bool, len(columns))}
	for c, name := range columns {
		t.number[c] = slices.Contains(w.Columns, name)
		if t.number[c] && formats != nil {
			formats[c].Text = false
		}
	}
	return describe.Table{Columns: columns, Formats: formats, Rows: t.rows, Text: t.isText}, w, nil
}

// columnsOf returns the names of the columns of a data file that has records, and their formats where they have types.
func columnsOf(path string) (names []string, formats []describe.Format, err error) {
	r, err := file.OpenTables([]string{path}, file.TableOptions{Missing: []string{}})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	t, err := r.Next()
	if errors.Is(err, io.EOF) || err == nil && t.Rows() == 0 {
		return nil, nil, fmt.Errorf("%s: %w; a configuration is inferred from records", path, describe.ErrNoRecords)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, c := range t.Columns() {
		names = append(names, c.Name)
		if !r.Typed() {
			continue
		}
		f := describe.Format{Text: c.Kind == codec.KindText, Time: c.Kind == codec.KindTime, Exact: c.Exact}
		if c.Kind == codec.KindOther && c.Type != "null" {
			f.Refused = "its type " + c.Type + " is none that a stage reads (text, numbers, booleans, times)"
		}
		formats = append(formats, f)
	}
	return names, formats, nil
}

// texts yields the cells of a data file as text, exactly as they stand in a text file; null is the empty text.
type texts struct {
	ctx     context.Context // of the command; a pass ends with it
	path    string
	columns []string
	bar     func(bytes int64)

	written *Written
	number  []bool // by column: it is rewritten as plain numbers

	r   *file.TableReader
	at  []int
	row int
}

// isText serves describe.Table.Text.
func (x *texts) isText(c int) bool { return x.at[c] >= 0 && !x.number[c] && x.r.IsText(x.at[c], x.row) }

// rows serves describe.Table.Rows.
func (x *texts) rows(yield func([]string, error) bool) {
	s := &model.Schema{}
	for _, c := range x.columns {
		s.Features = append(s.Features, model.Feature{Name: c, Kind: model.Nominal})
	}
	r, err := file.OpenTables([]string{x.path}, file.TableOptions{Codec: codec.Options{Schema: s}, Missing: []string{},
		Texts: true, Progress: x.bar})
	if err != nil {
		yield(nil, err)
		return
	}
	defer r.Close()
	x.r, x.at = r, make([]int, len(x.columns))
	cells := make([]string, len(x.columns))
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = x.ctx.Err()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for i, c := range x.columns {
			x.at[i] = t.Column(c)
		}
		for x.row = range t.Rows() {
			for i := range cells {
				cells[i] = ""
				if x.at[i] >= 0 {
					cells[i], _ = t.Text(x.at[i], x.row)
					cells[i] = beginning(cells[i])
					if x.written != nil && x.number[i] {
						cells[i] = x.written.plain(cells[i])
					}
				}
			}
			if !yield(cells, nil) {
				return
			}
		}
	}
}
