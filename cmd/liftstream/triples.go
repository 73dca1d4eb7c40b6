package main

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"liftstream/codec/file"
	"liftstream/model"
)

// comparison is a line of a file of triples: record i is more like record j than like record k.
type comparison struct {
	ids  [3]string
	line int
}

// comparisons are those of a file, and where its records stand.
type comparisons struct {
	file  string
	lines []comparison
	at    map[string]standing
}

// standing says where the record of an id is.
type standing struct {
	row   int64 // of the data, from 1; 0 = not met yet
	again int64 // a second row of this id; 0 = none
	index int32 // in the evidence, -1 = it has no class, or no weight
}

// readComparisons reads a file of ids `i,j,k`, one triple a line, in CSV without or with that line as its header; its
// name may end in .gz.
func readComparisons(path string) (*comparisons, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading triples: %w", err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true
	c := &comparisons{file: path, at: map[string]standing{}}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			return nil, fmt.Errorf("%s:%d: %w", path, bad.Line, bad.Err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		x := comparison{}
		x.line, _ = r.FieldPos(0)
		if len(record) != 3 {
			return nil, fmt.Errorf("%s:%d: %s; a triple is three ids, i,j,k: record i is more like j than like k", path, x.line, count(len(record), "value"))
		}
		for n, id := range record {
			x.ids[n] = strings.Clone(strings.TrimSpace(id))
			if x.ids[n] == "" {
				return nil, fmt.Errorf("%s:%d: an empty id", path, x.line)
			}
		}
		if x.ids == [3]string{"i", "j", "k"} && len(c.lines) == 0 {
			continue
		}
		if x.ids[0] == x.ids[1] || x.ids[0] == x.ids[2] || x.ids[1] == x.ids[2] {
			return nil, fmt.Errorf("%s:%d: %s are not three records", path, x.line, strings.Join(x.ids[:], ", "))
		}
		for _, id := range x.ids {
			c.at[id] = standing{index: -1}
		}
		c.lines = append(c.lines, x)
	}
	if len(c.lines) == 0 {
		return nil, fmt.Errorf("%s: no triple", path)
	}
	return c, nil
}

// meet notes a record of the data; index is its number in the evidence, or -1.
func (c *comparisons) meet(id string, row int64, index int32) {
	s, ok := c.at[id]
	switch {
	case !ok:
		return
	case s.row == 0:
		s.row, s.index = row, index
	case s.again == 0:
		s.again = row
	}
	c.at[strings.Clone(id)] = s
}

// indices returns the triples as record numbers of the evidence; it fails at the first line that names a record that is
// not there, twice there, or without a class.
func (c *comparisons) indices(data []string) ([][3]int32, error) {
	out := make([][3]int32, len(c.lines))
	for t, x := range c.lines {
		for n, id := range x.ids {
			s := c.at[id]
			switch {
			case s.row == 0:
				return nil, fmt.Errorf("%s:%d: there is no record %q in %s", c.file, x.line, id, joined(data))
			case s.again != 0:
				return nil, fmt.Errorf("%s:%d: the id %q names two records of %s, rows %d and %d", c.file, x.line, id, joined(data), s.row, s.again)
			case s.index < 0:
				return nil, fmt.Errorf("%s:%d: record %q, row %d of %s, has no class", c.file, x.line, id, s.row, joined(data))
			}
			out[t][n] = s.index
		}
	}
	return out, nil
}

// gather reads the files into a builder. It calls each, when that is not nil, for every record with its position in the
// data, its class, and its number in the evidence, -1 when it is not there; and notes in c, when that is not nil, where
// the records of the triples are.
func (a *app) gather(ctx context.Context, data []string, o file.Options, builder *model.Builder, c *comparisons, each func(row int64, class, index int32)) (int, error) {
	if c != nil && o.Codec.ID == "" {
		return 0, fmt.Errorf("--triples %s: the configuration names no id; set record.id to the column that the triples speak of", c.file)
	}
	row, kept := int64(0), int32(0)
	n, err := a.collect(ctx, data, o, func(b *model.Batch) {
		builder.Add(b)
		for i := range b.N {
			index := int32(-1)
			if b.Label[i] >= 0 && (b.Weight == nil || b.Weight[i] > 0) {
				index = kept
				kept++
			}
			if each != nil {
				each(row, b.Label[i], index)
			}
			row++
			if c != nil {
				c.meet(b.ID[i], row, index)
			}
		}
	})
	return n, err
}

// usedFeature is a feature in a result, with the number of splits in which it was used.
type usedFeature struct {
	Feature string `json:"feature"`
	Splits  int    `json:"splits"`
}

// usedFeatures orders features by the splits that use them, then as in the configuration.
func usedFeatures(s *model.Schema, splits []int) []usedFeature {
	out := []usedFeature{}
	for f, n := range splits {
		if n > 0 {
			out = append(out, usedFeature{s.Features[f].Name, n})
		}
	}
	slices.SortStableFunc(out, func(a, b usedFeature) int { return b.Splits - a.Splits })
	return out
}
