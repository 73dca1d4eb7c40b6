package infer

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/stream"
)

// scored is a run of records with their scores, all by one partition.
type scored struct {
	*codec.Answers
	rows []int // of the request
	desk *desk // which the answers are part of
}

// score scores the records of lines, one JSON object each, by the partitions of their ids, or by the stated one where
// they have none; stated < 0 means the lowest that this process holds. All are scored or none. The caller gives the
// scores back when it has written them.
func (s *Service) score(ctx context.Context, lines [][]byte, stated int) ([]scored, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	if err := s.pay(len(lines)); err != nil {
		return nil, err
	}
	all, err := s.decode(lines, false)
	if err != nil {
		return nil, err
	}
	held, of := s.o.Stage.Partitions()
	if of == 0 {
		return nil, s.busy("the stage has not joined its group yet")
	}
	rows := map[int][]int{}
	for i := range lines {
		p := stated
		switch {
		case all.batch.ID != nil && stated >= 0:
			return nil, wrong(http.StatusBadRequest, "the id of a record says its partition: leave out the stated one")
		case all.batch.ID != nil:
			p = stream.PartitionOf(all.batch.ID[i], of)
		case stated >= of:
			return nil, wrong(http.StatusBadRequest, "partition %d: there are %d, from 0 on", stated, of)
		case stated < 0 && len(held) == 0:
			return nil, s.busy("this process holds no partition")
		case stated < 0:
			p = slices.Min(held)
		}
		rows[p] = append(rows[p], i)
	}
	partitions := slices.Sorted(maps.Keys(rows))
	for _, p := range partitions {
		if !slices.Contains(held, p) {
			return nil, elsewhere(&stream.NotHeldError{Partition: p, Held: held}, rows[p])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Limits.Wait.Std())
	defer cancel()
	var out []scored
	for _, p := range partitions {
		for of := range slices.Chunk(rows[p], stream.AskRows) {
			part := all
			if len(of) < len(lines) {
				own := make([][]byte, len(of))
				for i, row := range of {
					own[i] = lines[row]
				}
				if part, err = s.decode(own, true); err != nil {
					return nil, err
				}
			}
			answers, err := s.ask(ctx, p, part)
			if err != nil {
				return nil, s.unanswered(err, of)
			}
			out = append(out, scored{answers, of, part})
		}
	}
	if len(out) > 1 {
		give(s, []scored{{desk: all}})
	}
	s.records.Add(float64(len(lines)))
	return out, nil
}

// partOf are the options of a part of a request: its records hold the columns together, so a part may lack one.
func partOf(o codec.Options) codec.Options {
	may := map[string]bool{}
	for i := range o.Schema.Features {
		may[o.Schema.Features[i].Name] = true
	}
	for _, c := range o.Sources() {
		may[c.Name] = true
	}
	o.Nullable = may
	return o
}

// ask has the records scored by a partition.
func (s *Service) ask(ctx context.Context, partition int, d *desk) (a *codec.Answers, err error) {
	d.batch.Partition = int32(partition)
	var encoding error
	err = s.o.Stage.Ask(ctx, partition, &d.batch, func(scores *model.Scores, l *model.Levels) {
		a, encoding = d.at.encoder.Answers(&d.batch, scores, l, &d.carry)
	})
	return a, errors.Join(err, encoding)
}

// unreadable is the refusal of records that break the contract.
func unreadable(err error) error {
	f := &fault{code: http.StatusBadRequest}
	var e *file.Error
	var m *codec.MessageError
	var r codec.RowError
	switch {
	case errors.As(err, &e):
		f.row, f.column, f.text = int(e.Row), e.Column, e.Err.Error()
		if e.Value != "" {
			f.text = "holds " + quoted(e.Value) + ": " + f.text
		}
	case errors.As(err, &r):
		f.row, f.column, f.text = int(r.Row)+1, r.Column, "refused: "+string(r.Reason)
		if r.Value != "" {
			f.text = "holds " + quoted(r.Value) + ", " + f.text
		}
	case errors.As(err, &m):
		f.column, f.text = m.Column, m.Err.Error()
	default:
		return err
	}
	if f.column != "" {
		f.text = "column " + quoted(f.column) + ": " + f.text
	}
	if f.row > 0 {
		f.text = "record " + strconv.Itoa(f.row) + ": " + f.text
	}
	return f
}

// unanswered is the refusal of records that a partition could not answer.
func (s *Service) unanswered(err error, rows []int) error {
	var other *stream.NotHeldError
	var busy *stream.BusyError
	switch {
	case errors.As(err, &other):
		return elsewhere(other, rows)
	case errors.As(err, &busy):
		f := s.busy(busy.Error())
		f.partition = &busy.Partition
		return f
	}
	return err
}

func (s *Service) busy(text string) *fault {
	f := wrong(http.StatusServiceUnavailable, "%s", text)
	f.after = s.o.Limits.Wait.Std()
	return f
}

// elsewhere is the refusal of records of a partition that another member holds.
func elsewhere(e *stream.NotHeldError, rows []int) error {
	f := wrong(http.StatusMisdirectedRequest, "record %d: %v: another process of the stage does", rows[0]+1, e)
	f.row, f.partition, f.held = rows[0]+1, &e.Partition, e.Held
	return f
}
