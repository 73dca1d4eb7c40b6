package assemble

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/local"
	"liftstream/model/modeltest"
	"liftstream/model/trees"
)

// watched hands out copies of sections and notes how many a fit holds.
type watched struct {
	model.Held
	mu          sync.Mutex
	handed      []weak.Pointer[byte]
	open        int
	alive, read int // the most at a time, and in all
}

func (w *watched) Read(partition int32, section string, use func(b []byte) error) error {
	stored := w.Held[partition][section]
	if len(stored) < 64 { // it may share its block with others that live on
		return use(stored)
	}
	b := bytes.Clone(stored)
	w.mu.Lock()
	w.open++
	w.handed = append(w.handed, weak.Make(&b[0]))
	w.read++
	w.mu.Unlock()
	err := use(b)
	runtime.KeepAlive(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	runtime.GC()
	alive := 0
	for _, p := range w.handed {
		if p.Value() != nil {
			alive++
		}
	}
	w.alive = max(w.alive, alive-w.open+1) // beside the ones in use
	w.open--
	return err
}

// TestAFitHoldsNoStates: a fit keeps no section of a state after it has read it, however many partitions there are, and
// comes to the same model as from states in memory.
func TestAFitHoldsNoStates(t *testing.T) {
	modeltest.Computes(t)
	a := stage(t, `
name: x
record:
  label: {column: y, classes: [a, b, c]}
  features: [{name: visits, kind: continuous}, {name: age, kind: continuous}, {name: plan, kind: nominal}]
fit: {warmup: 50}
kernel: {triples: 500}
`)
	const partitions = 6
	parts := make([]*model.Partition, partitions)
	states := func(from, to int) *watched {
		w := &watched{Held: model.Held{}}
		for n := range parts {
			if parts[n] == nil {
				parts[n] = model.NewPartition(a.Spec, int32(n))
			}
			var out model.Scores
			parts[n].Events(drawn(n, from, to), &out)
			w.Held[int32(n)] = parts[n].Snapshot()
		}
		return w
	}
	var w *watched
	held := func(what string) {
		t.Helper()
		if w.read < partitions || w.alive > 1 {
			t.Errorf("%s: %d sections are held at a time, of %d", what, w.alive, w.read)
		}
		w = &watched{Held: w.Held}
	}
	same := func(what string, m *model.Model, again func(s model.States) (*model.Model, error)) {
		t.Helper()
		n, err := again(w.Held)
		if err != nil || !bytes.Equal(n.AppendBinary(nil), m.AppendBinary(nil)) {
			t.Errorf("%s: another model from states in memory, %v", what, err)
		}
	}
	run := func(what string, fit func(s model.States) (*model.Model, error)) *model.Model {
		t.Helper()
		m, err := fit(w)
		if err != nil {
			t.Fatal(err)
		}
		held(what)
		same(what, m, fit)
		return m
	}
	w = states(0, 120)
	m := run("first", func(s model.States) (*model.Model, error) { return model.FitAnew(t.Context(), a.Spec, s, nil) })
	for _, p := range parts {
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	from := states(120, 150)
	w = from
	next := run("next", func(s model.States) (*model.Model, error) { return model.Fit(t.Context(), a.Spec, s, m) })
	w = states(150, 200)
	if _, err := model.Compare(t.Context(), a.Spec, next, from, w, 100); err != nil {
		t.Fatal(err)
	}
	held("compared")
	run("renewed", func(s model.States) (*model.Model, error) { return model.Renew(t.Context(), a.Spec, next, s) })
}

// drawn makes records of one partition.
func drawn(partition, from, to int) *model.Batch {
	x := &model.Batch{N: to - from, Columns: make([]model.Column, 3), Offset: int64(from)}
	x.Columns[2].Levels = []string{fmt.Sprint("own ", partition), "plus", fmt.Sprint("shared ", partition%2)}
	for i := from; i < to; i++ {
		h := model.Hash(3, uint64(i), uint64(partition))
		age := float64(h>>40) / (1 << 24)
		x.Columns[0].Float = append(x.Columns[0].Float, float64(h>>8&31))
		x.Columns[1].Float = append(x.Columns[1].Float, age)
		x.Columns[2].Code = append(x.Columns[2].Code, uint32(h%3))
		y := int32(h >> 5 & 1)
		if float64(h>>16&0xffff)/(1<<16) < age {
			y = 2
		}
		x.Label, x.Row = append(x.Label, y), append(x.Row, int32(i))
		x.Time = append(x.Time, int64(i))
	}
	return x
}

// TestBoundsThatLintNames: they are those of the components.
func TestBoundsThatLintNames(t *testing.T) {
	if config.WidestKernel != kernel.Widest || config.WidestLocal != local.Widest {
		t.Errorf("kernel %d and %d, local %d and %d", config.WidestKernel, kernel.Widest, config.WidestLocal, local.Widest)
	}
	if config.WidestTrees != trees.Widest {
		t.Errorf("trees %d and %d", config.WidestTrees, trees.Widest)
	}
	s := stage(t, "name: x\nrecord:\n  label: {column: y, classes: [a, b]}\n  features: [{name: v, kind: continuous}]\n")
	steps := s.Spec.Scorecard.(model.Estimator).Steps
	if cells := config.OwnCells; steps(cells/2) > model.LoopWork || steps(cells/2+1) <= model.LoopWork {
		t.Errorf("%d values take %v steps of %d", cells, steps(cells/2), model.LoopWork)
	}
}
