package assemble

import (
	"context"
	"slices"
	"sync"
	"time"

	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/report"
)

// Report gathers the findings of a fit to the evidence ev, which was taken from a number of records.
func (s *Stage) Report(name string, records int, ev *model.Evidence, m *model.Model) (*report.Report, error) {
	classes := ev.Schema.Classes
	r := &report.Report{Name: name, Records: records, Labelled: ev.Len(), Classes: classes,
		BaseRates: make([]report.Number, len(classes))}
	var n float64
	rates := make([]float64, len(classes))
	for i, y := range ev.Class {
		rates[y] += ev.Weight[i]
		n += ev.Weight[i]
	}
	for y := range rates {
		r.BaseRates[y] = report.Number(rates[y] / n)
	}
	if err := s.Sections(m, r); err != nil {
		return nil, err
	}
	r.Features = report.Features(ev)
	return r, nil
}

// Timing holds how long the last fit of each component took.
type Timing struct{ fits []*timed }

// Time lets the fits of the components take turns, so that each has all cores and its time is its own.
func (s *Stage) Time() *Timing {
	t := &Timing{}
	var turn sync.Mutex
	for i, x := range s.Spec.Components {
		f := &timed{Factory: x, turn: &turn}
		s.Spec.Components[i], t.fits = f, append(t.fits, f)
	}
	return t
}

// Seconds is the section of a report; read is how long the reading of the records took.
func (t *Timing) Seconds(read time.Duration) report.Seconds {
	s := report.Seconds{{Step: "read", Seconds: read.Seconds()}}
	for _, f := range t.fits {
		s = append(s, report.Second{Step: f.Name(), Seconds: f.took.Seconds()})
	}
	return s
}

// timed is a Factory that measures its Fit.
type timed struct {
	model.Factory
	turn *sync.Mutex
	took time.Duration
}

// Unwrap returns the factory that is measured.
func (t *timed) Unwrap() model.Factory { return t.Factory }

// Fit calls the factory's own.
func (t *timed) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	start := time.Now()
	defer func() { t.took = time.Since(start) }()
	return t.Factory.Fit(ctx, ev, previous)
}

// Compare lets the kernel be designed from the given triples of records, numbered in the order in which they were
// added. They may be filled in until the fit; it precedes Time. It fails where the stage has no kernel.
func (s *Stage) Compare(triples *[][3]int32) error {
	for i, x := range s.Spec.Components {
		if k, ok := x.(*kernel.Factory); ok {
			s.Spec.Components[i] = &compared{k, triples}
		}
	}
	return s.Has(kernel.Name)
}

// compared is the kernel's Factory with triples of its own.
type compared struct {
	*kernel.Factory
	triples *[][3]int32
}

// Fit is FitGiven.
func (c *compared) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	triples := *c.triples
	if ev.Source != nil {
		at := make([]int32, len(ev.Source))
		for i, s := range ev.Source {
			at[s] = int32(i)
		}
		triples = slices.Clone(triples)
		for t := range triples {
			for n, i := range triples[t] {
				triples[t][n] = at[i]
			}
		}
	}
	return c.FitGiven(ctx, ev, previous, triples)
}
