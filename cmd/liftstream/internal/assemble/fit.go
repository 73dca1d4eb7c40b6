package assemble

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/report"
)

// reported are the parts of a model that a report has a section of, in the order in which they are read.
var reported = []struct {
	name    string
	add     func(s *model.Schema, levels *model.Levels, raw []byte, r *report.Report) error
	seconds func(s *report.Seconds) *float64
}{
	{lift.Name, reportLift, func(s *report.Seconds) *float64 { return &s.Lift }},
	{kernel.Name, reportKernel, func(s *report.Seconds) *float64 { return &s.Kernel }},
	{local.Name, reportLocal, func(s *report.Seconds) *float64 { return &s.Local }},
}

func reportLift(s *model.Schema, levels *model.Levels, raw []byte, r *report.Report) error {
	part, err := lift.DecodePart(s, raw)
	if err != nil {
		return err
	}
	part.Report(s, levels, r)
	return nil
}

func reportKernel(s *model.Schema, _ *model.Levels, raw []byte, r *report.Report) error {
	part, err := kernel.DecodePart(s, raw)
	if err != nil {
		return err
	}
	r.Kernel = part.Report(s)
	return nil
}

func reportLocal(s *model.Schema, levels *model.Levels, raw []byte, r *report.Report) error {
	part, err := local.DecodePart(s, raw)
	if err != nil {
		return err
	}
	r.Local = part.Section(s, levels)
	return nil
}

// Report gathers the findings of a fit to the evidence ev, which was taken from a number of records.
func Report(name string, records int, ev *model.Evidence, m *model.Model) (*report.Report, error) {
	s := ev.Schema
	r := &report.Report{Name: name, Records: records, Labelled: ev.Len(), Classes: s.Classes,
		BaseRates: make([]report.Number, len(s.Classes))}
	var n float64
	rates := make([]float64, len(s.Classes))
	for i, y := range ev.Class {
		rates[y] += ev.Weight[i]
		n += ev.Weight[i]
	}
	for y := range rates {
		r.BaseRates[y] = report.Number(rates[y] / n)
	}
	for _, x := range reported {
		raw, ok := m.Parts[x.name]
		if !ok && x.name != lift.Name {
			continue
		}
		if err := x.add(s, m.Levels, raw, r); err != nil {
			return nil, fmt.Errorf("reading the model's part %s: %w", x.name, err)
		}
	}
	r.Features = report.Features(ev)
	return r, nil
}

// Timing holds how long the last fit of each component took.
type Timing struct{ fits map[string]*timed }

// Time lets the fits of the components take turns, so that each has all cores and its time is its own.
func (s *Stage) Time() *Timing {
	t := &Timing{map[string]*timed{}}
	var turn sync.Mutex
	for i, x := range s.Spec.Components {
		f := &timed{Factory: x, turn: &turn}
		s.Spec.Components[i], t.fits[x.Name()] = f, f
	}
	return t
}

// Seconds is the section of a report; read is how long the reading of the records took.
func (t *Timing) Seconds(read time.Duration) *report.Seconds {
	s := &report.Seconds{Read: read.Seconds()}
	for _, x := range reported {
		if f := t.fits[x.name]; f != nil {
			*x.seconds(s) = f.took.Seconds()
		}
	}
	return s
}

// timed is a Factory that measures its Fit.
type timed struct {
	model.Factory
	turn *sync.Mutex
	took time.Duration
}

// Fit calls the factory's own.
func (t *timed) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	start := time.Now()
	defer func() { t.took = time.Since(start) }()
	return t.Factory.Fit(ctx, ev, previous)
}

// Compare lets the kernel be designed from the given triples of records, numbered in the order in which they were
// added. They may be filled in until the fit; it precedes Time.
func (s *Stage) Compare(triples *[][3]int32) {
	for i, x := range s.Spec.Components {
		if k, ok := x.(*kernel.Factory); ok {
			s.Spec.Components[i] = &compared{k, triples}
		}
	}
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
