package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/describe"
)

// Columns returns the names of the columns of a data file that has records.
func Columns(path string) ([]string, error) {
	r, err := file.OpenTables([]string{path}, file.TableOptions{Missing: []string{}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.Next()
	if errors.Is(err, io.EOF) || err == nil && t.Rows() == 0 {
		return nil, fmt.Errorf("%s: %w; a configuration is inferred from records", path, describe.ErrNoRecords)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range t.Columns() {
		names = append(names, c.Name)
	}
	return names, nil
}

// Texts yields the cells of a data file as text, exactly as they stand in a text file; null is the empty text.
func Texts(ctx context.Context, path string, columns []string, bar *cli.Progress) iter.Seq2[[]string, error] {
	s := &model.Schema{}
	for _, c := range columns {
		s.Features = append(s.Features, model.Feature{Name: c, Kind: model.Nominal})
	}
	return func(yield func([]string, error) bool) {
		r, err := file.OpenTables([]string{path}, file.TableOptions{Codec: codec.Options{Schema: s}, Missing: []string{},
			Progress: bar.Add})
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		at := make([]int, len(columns))
		cells := make([]string, len(columns))
		for {
			t, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i, c := range columns {
				at[i] = t.Column(c)
			}
			for row := range t.Rows() {
				for i := range cells {
					cells[i] = ""
					if at[i] >= 0 {
						cells[i], _ = t.Text(at[i], row)
					}
				}
				if !yield(cells, nil) {
					return
				}
			}
		}
	}
}
