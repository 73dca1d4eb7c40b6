package live

import (
	"bytes"
	"fmt"
	"sync"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/factsheet"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model"
	"liftstream/model/report"
)

// book writes down the serving model. It decodes and writes each version once, when somebody asks, and keeps the last
// one.
type book struct {
	stage   *assemble.Stage
	serving func() *model.Model

	mu     sync.Mutex // guards the rest
	of     int64      // the version of report and sheet; 0 = none
	report *report.Report
	sheet  []byte // nil = not written yet
}

// open reads the serving model, if it is another one; nil = there is none. The caller holds the lock.
func (b *book) open() (*model.Model, error) {
	m := b.serving()
	if m == nil || m.Version == b.of {
		return m, nil
	}
	r := &report.Report{}
	if err := b.stage.Sections(m, r); err != nil {
		return nil, fmt.Errorf("reading model %d: %w", m.Version, err)
	}
	b.of, b.report, b.sheet = m.Version, r, nil
	return m, nil
}

// curves are those of the serving model; nil where there are none.
func (b *book) curves() []report.Curve {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, err := b.open(); m == nil || err != nil || b.report.Local == nil {
		return nil
	}
	return b.report.Local.Curves
}

// page is the serving model as 'liftstream report' writes it; nil before the first.
func (b *book) page() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, err := b.open()
	if m == nil || err != nil || b.sheet != nil {
		return b.sheet, err
	}
	in := factsheet.Input{Name: b.stage.Config.Name, Model: m, Report: b.report, Home: "./"}
	if in.Card, err = portable.New(b.stage, m); err != nil {
		in.NoCard = err.Error()
	}
	var out bytes.Buffer
	if err := factsheet.New(in).HTML(&out); err != nil {
		return nil, err
	}
	b.sheet = out.Bytes()
	return b.sheet, nil
}
