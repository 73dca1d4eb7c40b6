package records

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"liftstream/model/report/text"
)

// comparison is a line of a file of triples: record i is more like record j than like record k.
type comparison struct {
	ids  [3]string
	line int
}

// Comparisons are the triples of a file, and the places of their records.
type Comparisons struct {
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

// ReadComparisons reads a file of ids `i,j,k`, one triple a line, in CSV without or with that line as its header; its
// name may end in .gz.
func ReadComparisons(path string) (*Comparisons, error) {
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
	c := &Comparisons{file: path, at: map[string]standing{}}
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
			return nil, fmt.Errorf("%s:%d: %s; a triple is three ids, i,j,k: record i is more like j than like k", path, x.line,
				text.Count(len(record), "value"))
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
func (c *Comparisons) meet(id string, row int64, index int32) {
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

// Indices returns the triples as record numbers of the evidence; it fails at the first line that names a record that is
// not there, twice there, or without a class.
func (c *Comparisons) Indices(data []string) ([][3]int32, error) {
	out := make([][3]int32, len(c.lines))
	for t, x := range c.lines {
		for n, id := range x.ids {
			s := c.at[id]
			switch {
			case s.row == 0:
				return nil, fmt.Errorf("%s:%d: there is no record %q in %s", c.file, x.line, id, text.Joined(data))
			case s.again != 0:
				return nil, fmt.Errorf("%s:%d: the id %q names two records of %s, rows %d and %d", c.file, x.line, id,
					text.Joined(data), s.row, s.again)
			case s.index < 0:
				return nil, fmt.Errorf("%s:%d: record %q, row %d of %s, has no class", c.file, x.line, id, s.row, text.Joined(data))
			}
			out[t][n] = s.index
		}
	}
	return out, nil
}
