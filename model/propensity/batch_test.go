package propensity

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// penalised is the objective of a batch: the weighted log-loss and the ridges.
func (d *design) penalised(b *batch) float64 {
	K, H := d.margins, d.horizons
	v := 0.
	p := make([]float64, K)
	for i, w := range d.weight {
		if K == 1 {
			q := sigmoid(d.z[i])
			if d.class[i] == 0 {
				q = 1 - q
			}
			v -= w * math.Log(q)
			continue
		}
		copy(p, d.z[i*K:])
		softmax(p)
		v -= w * math.Log(p[d.class[i]])
	}
	ridge := func(w, to, r float64) { v += r / 2 * (w - to) * (w - to) }
	for j := range b.lift {
		ridge(b.lift[j].w, d.prior(j*H + H - 1).w[batchCard], batchLift)
	}
	for j := range b.own {
		ridge(b.own[j].w, 0, batchOwn)
	}
	for f := range b.cell {
		for c := range b.cell[f] {
			ridge(b.cell[f][c].w, 0, batchCell)
		}
	}
	return v
}

// designed returns the design of generated records and a batch that starts from nothing.
func designed(t *testing.T, p *plan, ev *model.Evidence, lag int) (*design, *batch) {
	t.Helper()
	live := p.newTables()
	axes := fitter{p}.build(t.Context(), joined(ev, nil), nil)
	d, err := fitter{p}.newDesign(context.Background(), axes, joined(ev, nil), live, lag)
	if err != nil {
		t.Fatal(err)
	}
	b := &batch{lift: make([]point, len(d.lift)), own: make([]point, len(d.own)*p.margins),
		cell: make([][]point, len(p.features))}
	for f := range b.cell {
		b.cell[f] = make([]point, len(live.feat[f].pair))
	}
	d.start(b)
	return d, b
}

// TestBatchIsTheOptimum: rounds of Newton steps end where no weight can lower the penalised log-loss, and the few that
// a fit makes come within a fiftieth of a nat a record of it, from nothing; a fit starts from the live weights.
func TestBatchIsTheOptimum(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		t.Run(name, func(t *testing.T) {
			schema := schemas()[name]
			l, ex := modeltest.Generate(schema, 2500, 3)
			p := newPlan(Default(), schema)
			d, b := designed(t, p, modeltest.Evidence(schema, l, ex), 0)
			first := d.penalised(b)
			short := 0.
			for round := range 600 {
				d.refresh()
				d.round(b)
				if round == batchRounds-1 {
					short = d.penalised(b)
				}
			}
			best := d.penalised(b)
			t.Logf("objective %.2f at 0, %.2f after a fit, %.2f in the end", first, short, best)
			if !(best < first-100) || short > best+.02*float64(d.n) {
				t.Errorf("objective %v, %v after a fit, %v in the end", first, short, best)
			}
			const step = 1e-3
			try := func(what string, w *float64, move func(by float64)) {
				t.Helper()
				was, z := *w, slices.Clone(d.z)
				for _, by := range []float64{step, -step} {
					*w = was + by
					move(by)
					if v := d.penalised(b); v < best-1e-4 {
						t.Errorf("%s: moved by %v the objective falls from %v to %v", what, by, best, v)
					}
					*w = was
					copy(d.z, z)
				}
			}
			K := p.margins
			for j := range b.lift {
				try("log-lift", &b.lift[j].w, func(by float64) {
					for i, u := range d.lift[j] {
						d.z[i] += by * u
					}
				})
			}
			for j := range b.own {
				try("own", &b.own[j].w, func(by float64) {
					for i, u := range d.own[j/K] {
						d.z[i*K+j%K] += by * u
					}
				})
			}
			for f := range b.cell {
				for c := range b.cell[f] {
					try("cell", &b.cell[f][c].w, func(by float64) {
						d.eachCell(f, func(i int, cell int32, share float64) {
							if int(cell) == c/K {
								d.z[i*K+c%K] += share * by
							}
						})
					})
				}
			}
		})
	}
}

// TestBatchKnowsOnlyWhatWasKnown: no input of a record depends on its own class, on a later one, or on one that came by
// less than the lag of labels before it.
func TestBatchKnowsOnlyWhatWasKnown(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 1500, 3)
	p := newPlan(Default(), schema)
	const lag, at = 40, 1400
	turned := slices.Clone(ex)
	for i := at - lag; i < len(turned); i++ {
		turned[i].Class = 1 - turned[i].Class
	}
	for _, knows := range []int{lag + 1, lag - 1} {
		d, _ := designed(t, p, modeltest.Evidence(schema, l, ex), knows)
		e, _ := designed(t, p, modeltest.Evidence(schema, l, turned), knows)
		same := true
		for j := range d.lift {
			same = same && slices.Equal(d.lift[j][:at-batchBurn+1], e.lift[j][:at-batchBurn+1])
		}
		if same != (knows > lag) {
			t.Errorf("lag %d: inputs up to record %d are the same: %v, with labels turned from record %d on",
				knows, at, same, at-lag)
		}
	}
}

// TestBatchIsAdoptedOnce: the inputs of others enter with their live weight and stay; a batch moves weights the first
// time that it is met, and the same evidence gives the same batch.
func TestBatchIsAdoptedOnce(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 2000, 4)
	c := newCluster(t, schema, l, 2)
	for i := range ex {
		c.learn(i%2, ex[i])
		if i == 600 {
			c.fit()
		}
	}
	c.fit()
	m, err := c.live[0].readPart(c.part)
	if err != nil || m.batch == nil {
		t.Fatalf("no batch in the part: %v", err)
	}
	for f := range m.batch.cell {
		for cell, x := range m.batch.cell[f] {
			a, b := c.live[0].cur.feat[f].pair[cell].w[batchCard], c.live[1].cur.feat[f].pair[cell].w[batchCard]
			if math.Abs(a-b) > 1e-9 {
				t.Fatalf("feature %d, cell %d: weights %v and %v of two partitions, the batch has %v", f, cell, a, b, x.w)
			}
		}
	}
	alone := newCluster(t, schema, l, 1)
	for i := range ex {
		alone.learn(0, ex[i])
		if i == 600 {
			alone.fit()
		}
	}
	s := alone.live[0]
	learnt := s.cur.clone()
	alone.fit()
	adopted := s.cur.clone()
	moved := 0
	for i := range learnt.in {
		if !besideTheBatch(learnt.in[i], adopted.in[i]) {
			t.Fatalf("input %d: a card that has no batch moved, from %v to %v", i, learnt.in[i], adopted.in[i])
		}
		if learnt.in[i] != adopted.in[i] {
			moved++
		}
	}
	if moved != len(s.features)+1 {
		t.Errorf("%d weights of inputs moved, want that of each feature's longest memory and of the base rate", moved)
	}
	alone.fit()
	if !slices.Equal(s.cur.in, adopted.in) || !slices.Equal(s.cur.feat[0].pair, adopted.feat[0].pair) {
		t.Error("a fit to the same evidence moved weights again")
	}
}

// TestLag: the scorecard notes how many records it learns between a score and its label.
func TestLag(t *testing.T) {
	schema := schemas()["two"]
	s, ex := trained(t, schema, 600, Default())
	const lag = 30
	p := make([]float64, 2)
	pending := make([][]float64, len(ex))
	for round := range 20 {
		for i := range ex {
			pending[i] = make([]float64, s.PendingLen())
			s.Score(ex[i].Row, nil, pending[i], p)
			if j := i - lag; j >= 0 {
				e := ex[j]
				e.Clock = float64(600 + round*len(ex) + j)
				s.LearnScored(&e, nil, pending[j])
			}
		}
	}
	if math.Abs(s.lag-lag) > 1 {
		t.Errorf("lag %v, want %d", s.lag, lag)
	}
	again := newScorecard(s.plan)
	if err := again.LoadState(s.AppendState(nil)); err != nil || again.lag != s.lag {
		t.Errorf("lag %v after reading the state back: %v", again.lag, err)
	}
}

// TestBatchLeavesOthersTheirWeight: the inputs of other components, had they not learnt the record, count with the
// weight that it has live, and nothing of it is fitted.
func TestBatchLeavesOthersTheirWeight(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		l, ex := modeltest.Generate(schema, 1500, 3)
		opt := Default()
		opt.Blocks = []Block{{Name: "lift", Inputs: 2, Fitted: true}, {Name: "local", Inputs: 1}}
		p := newPlan(opt, schema)
		ev := joined(modeltest.Evidence(schema, l, ex), nil)
		ev.Blocks = []int{1, 1} // the first block offers one of two inputs
		says := func(row model.Row) float64 {
			if row[0] > 0 {
				return 1
			}
			return -1
		}
		ev.Inputs = func(row model.Row, dst []float64) { t.Fatal("the offset knows the record itself") }
		ev.Offset = func(ex *model.Example, dst []float64) {
			clear(dst)
			dst[p.classes-1] = says(ex.Row)
			dst[2*p.classes-1] = 2 * says(ex.Row)
		}
		live := p.newTables()
		at := p.slots - p.extern
		live.in[at].w[batchCard], live.in[at].g[batchCard] = 3, 10 // G w and G: a weight of .3
		live.in[at+2].w[batchCard], live.in[at+2].g[batchCard] = 4, 8
		d, err := fitter{p}.newDesign(context.Background(), fitter{p}.build(t.Context(), ev, nil), ev, live, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.n {
			want := (.3 + 2*.5) * says(ex[batchBurn+i].Row)
			if got := d.z[(i+1)*p.margins-1]; math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s: record %d: the others make %v of the margin, want %v", name, i, got, want)
			}
		}
	}
}
