package assemble

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// importanceRecords bounds the records of Importance: a score takes about as long as many records of a fit.
const importanceRecords = 2000

// Importance tells how much each feature contributes to the scores of the last records of the evidence by the model
// that was fitted to them. Exchangeable evidence stands in an order without meaning, so that these are records drawn at
// random. The goals of the report get theirs.
func (s *Stage) Importance(ev *model.Evidence, m *model.Model, goals []report.Goal) ([]report.Importance, error) {
	spec := s.spec(s.Spec.Schema, s.parts)
	o := &spec.Options
	// Nothing waits for a label here, and nobody watches.
	o.Effects, o.WaitBytes, o.DedupWindow, o.FalseAlarms, o.Control = true, 0, 0, 0, model.Control{}
	p := model.NewPartition(spec, 0)
	if err := p.Swap(m); err != nil {
		return nil, fmt.Errorf("scoring the records of the fit: %w", err)
	}
	b := batchOf(ev, max(0, ev.Len()-importanceRecords))
	var scores model.Scores
	p.Events(b, &scores)
	for k := range goals {
		goals[k].Importance = evaluate.GoalImportanceOf(s.Spec.Schema, b, &scores, k)
	}
	return evaluate.ImportanceOf(s.Spec.Schema, b, &scores), nil
}

// batchOf makes a batch without labels of the records from one on. A level that is known by a hash alone is (other).
func batchOf(ev *model.Evidence, from int) *model.Batch {
	n := ev.Len() - from
	b := &model.Batch{N: n, Label: make([]int32, n), Row: make([]int32, n), Time: ev.Time[from:]}
	for i := range n {
		b.Label[i], b.Row[i] = model.Unlabelled, int32(i)
	}
	for f := range ev.Columns {
		feature, values := &ev.Schema.Features[f], ev.Columns[f][from:]
		var c model.Column
		codes := map[string]uint32{}
		for _, v := range values {
			if feature.Kind == model.Continuous {
				if k := model.SpecialOf(v); k >= 0 {
					v = feature.Special[k]
				}
				c.Float = append(c.Float, v)
				continue
			}
			if math.IsNaN(v) {
				c.Code = append(c.Code, model.MissingCode)
				continue
			}
			text := ev.Levels.Text(f, v)
			code, known := codes[text]
			if !known {
				code = uint32(len(c.Levels))
				codes[text], c.Levels = code, append(c.Levels, text)
			}
			c.Code = append(c.Code, code)
		}
		b.Columns = append(b.Columns, c)
	}
	return b
}
