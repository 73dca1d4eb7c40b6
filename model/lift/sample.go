package lift

import "liftstream/model"

// sample is the evidence in the form that the searches read.
type sample struct {
	schema  *model.Schema
	n       int
	classes int
	fields  []int32     // features that may be searched
	column  [][]float64 // by feature
	code    [][]int32   // by feature with levels; -1 missing
	missing []bool      // by feature: some record lacks it
	class   []int32
	weight  []float64
	total   float64
	ev      *model.Evidence
	visits  float64 // affordable record visits of one size of set, and of the profiles of one fit
}

func newSample(ev *model.Evidence) *sample {
	s := &sample{ev: ev, schema: ev.Schema, n: ev.Len(), classes: len(ev.Schema.Classes),
		column: ev.Columns, class: ev.Class, weight: ev.Weight, visits: affordable}
	if ev.Work > 0 {
		s.visits = min(s.visits, float64(ev.Work)/(4*profileSteps))
	}
	s.code, s.missing = make([][]int32, len(ev.Columns)), make([]bool, len(ev.Columns))
	for f, column := range ev.Columns {
		if ev.Schema.Features[f].Use != model.UseScore {
			continue
		}
		s.fields = append(s.fields, int32(f))
		for _, v := range column {
			if v != v {
				s.missing[f] = true
				break
			}
		}
		if ev.Schema.Features[f].Kind == model.Continuous {
			continue
		}
		s.code[f] = make([]int32, s.n)
		for i, v := range column {
			if v != v {
				s.code[f][i] = -1
			} else {
				s.code[f][i] = int32(v)
			}
		}
	}
	for _, w := range ev.Weight {
		s.total += w
	}
	return s
}

// complete reports whether record i has all features.
func (s *sample) complete(features []int32, i int) bool {
	for _, f := range features {
		if s.missing[f] {
			if v := s.column[f][i]; v != v {
				return false
			}
		}
	}
	return true
}
