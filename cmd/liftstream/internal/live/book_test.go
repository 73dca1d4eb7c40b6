package live

import (
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/config"
	"liftstream/model"
)

// TestTheServingModelIsShownAndEachVersionWrittenOnce, with its curves; nothing before the first.
func TestTheServingModelIsShownAndEachVersionWrittenOnce(t *testing.T) {
	text := "name: bank\nrecord:\n  label: {column: y, classes: [no, yes], positive: yes}\n  features:\n" +
		"    - {name: age, kind: continuous}\n    - {name: job, kind: nominal}\nkernel: off\n"
	c, _, err := config.Parse("bank.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var m *model.Model
	b := &book{stage: st, serving: func() *model.Model { return m }}
	if page, err := b.page(); page != nil || err != nil || b.curves() != nil {
		t.Errorf("before the first model: %d bytes, %v", len(page), err)
	}
	const n = 400
	batch := &model.Batch{N: n, Columns: []model.Column{{Float: make([]float64, n)},
		{Code: make([]uint32, n), Levels: []string{"nurse", "clerk"}}}, Label: make([]int32, n), Time: make([]int64, n)}
	for i := range n {
		h := model.Hash(5, uint64(i))
		batch.Columns[0].Float[i], batch.Columns[1].Code[i] = float64(h%60), uint32(h>>8%2)
		if h%60 > 30 {
			batch.Label[i] = 1
		}
	}
	builder := model.NewBuilder(st.Spec)
	builder.Add(batch)
	if m, err = builder.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Version = 3
	page, err := b.page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!doctype html>", `href="./"`, "Lift by age", "What each value does", "<svg"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page on the model lacks %q", want)
		}
	}
	if curves := b.curves(); len(curves) == 0 {
		t.Error("there are no curves")
	}
	again, _ := b.page()
	if &again[0] != &page[0] {
		t.Error("the same model is written twice")
	}
	next := *m
	next.Version, m = 4, &next
	if again, _ = b.page(); &again[0] == &page[0] {
		t.Error("a new model shows the page of the former one")
	}
	// A part that cannot be read is an error and no panic.
	broken := next
	broken.Version, broken.Parts = 5, map[string][]byte{"lift": {255}}
	m = &broken
	if _, err := b.page(); err == nil {
		t.Error("a broken model is shown")
	}
	if b.curves() != nil {
		t.Error("a broken model has curves")
	}
}
