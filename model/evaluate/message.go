package evaluate

import (
	"fmt"

	"liftstream/model"
)

// message gathers rows of one input partition into a Batch of its own, as a producer would. Levels stand in order of
// first appearance, so a learner sees the same batch however the source was batched.
type message struct {
	batch  model.Batch
	index  []map[string]uint32 // of the levels, by column; nil for numbers
	recode [][]uint32          // from the levels of source, by column; model.MissingCode = not met yet
	source *model.Batch
	ids    bool // rows of this message have ids
}

func newMessage(partition int32, s *model.Schema) *message {
	m := &message{index: make([]map[string]uint32, len(s.Features)), recode: make([][]uint32, len(s.Features))}
	m.batch.Partition = partition
	m.batch.Columns = make([]model.Column, len(s.Features))
	for f := range s.Features {
		if s.Features[f].Kind != model.Continuous {
			m.index[f] = map[string]uint32{}
		}
	}
	return m
}

// from must be called before rows of another batch, or of the same one refilled, are added.
func (m *message) from(b *model.Batch) {
	m.source = b
	// A message has ids for all its rows or for none: a source without them after one with them ends their use.
	if m.ids = b.ID != nil && (m.ids || m.batch.N == 0); !m.ids {
		m.batch.ID = nil
	}
	for f := range m.recode {
		if m.index[f] != nil {
			m.recode[f] = unset(m.recode[f], len(b.Columns[f].Levels))
		}
	}
}

func unset(codes []uint32, n int) []uint32 {
	codes = codes[:0]
	for range n {
		codes = append(codes, model.MissingCode)
	}
	return codes
}

// add copies row i of the source, record index of the stream, under the given label. A source without times is given
// the index as its time, so that partitions can be merged in stream order.
func (m *message) add(index int64, i int, label int32) { m.addWith(index, i, label, 0) }

// addWith is add with outcomes of the goals.
func (m *message) addWith(index int64, i int, label int32, o model.Outcomes) {
	b, s := &m.batch, m.source
	for f := range b.Columns {
		c, v := &b.Columns[f], &s.Columns[f]
		if m.index[f] == nil {
			c.Float = append(c.Float, v.Float[i])
			continue
		}
		code := v.Code[i]
		if code != model.MissingCode {
			to := m.recode[f][code]
			if to == model.MissingCode {
				to = m.level(f, v.Levels[code])
				m.recode[f][code] = to
			}
			code = to
		}
		c.Code = append(c.Code, code)
	}
	b.Label, b.Outcomes = append(b.Label, label), append(b.Outcomes, o)
	b.Weight = append(b.Weight, weightOf(s, i))
	b.Treated = append(b.Treated, treatmentOf(s, i))
	if m.ids {
		b.ID = append(b.ID, s.ID[i])
	}
	if s.Time != nil {
		b.Time = append(b.Time, s.Time[i])
	} else {
		b.Time = append(b.Time, index)
	}
	b.Row = append(b.Row, int32(b.N))
	b.N++
}

func (m *message) level(f int, text string) uint32 {
	code, ok := m.index[f][text]
	if !ok {
		code = uint32(len(m.batch.Columns[f].Levels))
		m.index[f][text] = code
		m.batch.Columns[f].Levels = append(m.batch.Columns[f].Levels, text)
	}
	return code
}

// reset empties the message; rows of the same source may follow.
func (m *message) reset() {
	b := &m.batch
	for f := range b.Columns {
		c := &b.Columns[f]
		c.Float, c.Code = c.Float[:0], c.Code[:0]
		if m.index[f] != nil {
			for _, text := range c.Levels {
				delete(m.index[f], text)
			}
			c.Levels = c.Levels[:0]
			m.recode[f] = unset(m.recode[f], len(m.recode[f]))
		}
	}
	b.N, b.Label, b.Weight, b.ID, b.Time, b.Row = 0, b.Label[:0], b.Weight[:0], b.ID[:0], b.Time[:0], b.Row[:0]
	b.Treated, b.Outcomes = b.Treated[:0], b.Outcomes[:0]
}

func weightOf(b *model.Batch, i int) float64 {
	if b.Weight == nil {
		return 1
	}
	return b.Weight[i]
}

// hand gives the records of the messages to the sink, where there is one.
func (d *driver) hand() error {
	if d.sink == nil {
		return nil
	}
	for _, at := range d.order {
		m := d.messages[at.partition]
		r := &d.record
		r.Index, r.Partition, r.Class, r.Row, r.Batch = at.index, at.partition, at.class, int(at.row), &m.batch
		r.outcomes = at.outcomes
		r.Weight, r.treatment = m.batch.Weight[at.row], at.treated
		for k := range d.methods {
			r.Scores[k] = &d.out[k][at.partition]
			if d.live[k] != nil {
				r.Levels[k] = d.live[k][at.partition].Levels()
			}
		}
		if err := d.sink(r); err != nil {
			return fmt.Errorf("evaluating: record %d: %w", at.index, err)
		}
	}
	return nil
}

func treatmentOf(b *model.Batch, i int) model.Treatment {
	if b.Treated == nil {
		return model.TreatmentUnknown
	}
	return b.Treated[i]
}
