package propensity

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/wire"
)

// layer is METHOD.md 8 once more, written down for the test: it takes the mixture's propensities as given.
type layer struct {
	mean [][]float64 // half-lives x classes
	w, g []float64
	q    float64 // share of the corrected log-scores
}

// uncorrected are the standard settings without the last layer.
func uncorrected() tuning {
	t := standard
	t.corrects = false
	return t
}

var layerHalf = []float64{1, 3, 14}

func newLayer(classes int) *layer {
	l := &layer{w: []float64{1, 0, 0, 0}, g: []float64{4, 4, 4, 4}, q: .5}
	for range layerHalf {
		l.mean = append(l.mean, make([]float64, classes))
	}
	return l
}

// inputs returns the log-scores of the mixture, then the scaled means, by class.
func (l *layer) inputs(p []float64, lag float64) [][]float64 {
	out := [][]float64{make([]float64, len(p))}
	for c, v := range p {
		out[0][c] = math.Log(v)
	}
	for j, h := range layerHalf {
		d := math.Pow(.5, 1/h)
		x := make([]float64, len(p))
		for c := range p {
			x[c] = l.mean[j][c] * math.Sqrt((1+d)/(1-d)) * math.Pow(.5, lag/h)
		}
		if len(p) == 2 { // one margin, that of class 1
			x[0] = 0
		}
		out = append(out, x)
	}
	return out
}

func (l *layer) corrected(x [][]float64) []float64 {
	z := make([]float64, len(x[0]))
	for c := range z {
		for j, w := range l.w {
			z[c] += w * x[j][c]
		}
	}
	return z
}

func (l *layer) score(x [][]float64, corrected []float64) []float64 {
	p := make([]float64, len(corrected))
	for c, v := range corrected {
		p[c] = (1-l.q)*x[0][c] + l.q*v
	}
	softmax(p)
	return p
}

func (l *layer) learn(y int, p []float64, x [][]float64, then []float64, remembered bool) {
	q := l.corrected(x)
	softmax(q)
	for j := range l.w {
		if !remembered {
			break
		}
		d := 0.
		for c := range p {
			off := q[c]
			if c == y {
				off--
			}
			d += off * x[j][c]
		}
		l.g[j] += d * d
		step := .05
		if j == 0 {
			step = .003
		}
		l.w[j] -= step * d / math.Sqrt(l.g[j])
	}
	if remembered {
		v := append([]float64(nil), then...)
		softmax(v)
		a, b := (1-l.q)*math.Sqrt(p[y]), l.q*math.Sqrt(v[y])
		l.q = b/(a+b)*.997 + .0015
	}
	for j, h := range layerHalf {
		d := math.Pow(.5, 1/h)
		for c, v := range p {
			hit := 0.
			if c == y {
				hit = 1
			}
			l.mean[j][c] = d*l.mean[j][c] + (1-d)*(hit-v)
		}
	}
}

// The last layer is that of METHOD.md 8: over the propensities of a scorecard without it,
// it gives those of one with it.
func TestLastLayer(t *testing.T) {
	for _, name := range []string{"many", "two"} {
		for _, delay := range []int{0, 40} {
			t.Run(fmt.Sprint(name, ", delay ", delay), func(t *testing.T) {
				schema := schemas()[name]
				_, ex := modeltest.Generate(schema, 900, 7)
				d := &table{schema: schema}
				for i := range ex {
					d.rows, d.class = append(d.rows, ex[i].Row), append(d.class, ex[i].Class)
				}
				base, s := open(d, Default(), uncorrected(), 900), open(d, Default(), standard, 900)
				K := len(schema.Classes)
				l := newLayer(K)
				memories, inputs := [][]float64{}, [][][]float64{}
				blank, mixed, then := [][]float64{}, [][]float64{}, [][]float64{}
				p, q := make([]float64, K), make([]float64, K)
				for i, row := range d.rows {
					memories = append(memories, make([]float64, s.PendingLen()))
					blank = append(blank, make([]float64, base.PendingLen()))
					base.Score(row, nil, blank[i], p)
					mixed = append(mixed, append([]float64(nil), p...))
					inputs = append(inputs, l.inputs(p, s.res.lag))
					then = append(then, l.corrected(inputs[i]))
					want := l.score(inputs[i], then[i])
					s.Score(row, nil, memories[i], q)
					for c := range q {
						if math.Abs(q[c]-want[c]) > 1e-9 {
							t.Fatalf("record %d, class %d: %v, want %v", i, c, q[c], want[c])
						}
					}
					if u := i - delay; u >= 0 {
						x := d.example(u)
						remembered := u == 0 || s.Remembers(memories[u])
						if !s.Remembers(memories[u]) { // of before the first record: learnt as it would be scored now
							base.Score(x.Row, nil, nil, mixed[u])
						}
						base.LearnScored(&x, nil, blank[u])
						s.LearnScored(&x, nil, memories[u])
						l.learn(int(x.Class), mixed[u], inputs[u], then[u], remembered)
					}
				}
			})
		}
	}
}

// Outcomes that come in runs which no feature tells are foreseen by recent residuals; where outcomes do not depend on
// each other, the layer costs next to nothing.
func TestRecentResidualsForeseeRuns(t *testing.T) {
	schema := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	loss := func(stay float64, tune tuning, delay int) float64 {
		d := &table{schema: schema}
		state, x := 0., 0.
		for i := range 12000 {
			u := func(k uint64) float64 { return float64(model.Hash(11, uint64(i), k)>>11) / (1 << 53) }
			if u(0) > stay {
				state = math.Floor(2 * u(1))
			}
			if u(4) > stay {
				x = u(2)
			}
			y := int32(0)
			if u(3) < sigmoid(8*x+3*state-5.5) {
				y = 1
			}
			d.rows, d.class = append(d.rows, model.Row{x}), append(d.class, y)
		}
		p := prequential(open(d, Default(), tune, 1000), d, delay)
		sum := 0.
		for i := 1000; i < len(p); i++ {
			if d.class[i] == 1 {
				sum -= math.Log(p[i])
			} else {
				sum -= math.Log(1 - p[i])
			}
		}
		return sum / float64(len(p)-1000)
	}
	for _, c := range []struct {
		name        string
		stay        float64
		delay       int
		least, most float64 // of the difference
	}{
		{"runs", .9, 0, -1, -.005},
		{"no runs", 0, 0, -.0005, .0005},
		{"runs, labels late", .9, 1000, -.001, .001},
	} {
		if by := loss(c.stay, standard, c.delay) - loss(c.stay, uncorrected(), c.delay); !(by >= c.least && by <= c.most) {
			t.Errorf("%s: the log-loss differs by %.5f, want %v to %v", c.name, by, c.least, c.most)
		}
	}
}

// Without recent residuals scores are the mixture's, no reason has their term, and a state that has them is refused
// (under another configuration it is not offered), as is the converse.
func TestWithoutRecentResiduals(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		_, ex := modeltest.Generate(schema, 600, 4)
		d := &table{schema: schema}
		for i := range ex {
			d.rows, d.class = append(d.rows, ex[i].Row), append(d.class, ex[i].Class)
		}
		o := Default()
		o.Alone = true
		off, base, on := open(d, o, standard, 300), open(d, Default(), uncorrected(), 300), open(d, Default(), standard, 300)
		got, want := prequential(off, d, 0), prequential(base, d, 0)
		if !slices.Equal(got, want) {
			t.Errorf("%s: scores are not those of the mixture", name)
		}
		if slices.Equal(got, prequential(on, d, 0)) {
			t.Errorf("%s: the layer changes no score", name)
		}
		p, pending := make([]float64, len(schema.Classes)), make([]float64, off.PendingLen())
		off.Score(d.rows[0], nil, pending, p)
		for _, e := range off.Effects(d.rows[0], pending, 0, nil) {
			if e.Feature == model.TermRecent {
				t.Errorf("%s: a term of recent residuals: %+v", name, e)
			}
		}
		a, b := off.AppendState(nil), on.AppendState(nil)
		if on.LoadState(a) == nil || off.LoadState(b) == nil {
			t.Errorf("%s: a state of the other setting is taken", name)
		}
	}
}

// A state of before the last layer is read, and written with a layer that has learnt nothing.
func TestStateWithoutALastLayer(t *testing.T) {
	schema := schemas()["two"]
	levels, part, old := modeltest.ReadGolden(t, schema, filepath.Join("testdata", "format-1.gz"))
	s := New(Default(), schema).New(levels).(*Scorecard)
	if err := s.LoadState(old); err != nil {
		t.Fatal(err)
	}
	want := s.newResiduals()
	if got := s.res.append(nil); string(got) != string(want.append(nil)) {
		t.Errorf("the layer is %+v", s.res)
	}
	b := s.AppendState(nil)
	if tail := want.append(nil); string(b[len(b)-len(tail):]) != string(tail) || len(b) != len(old)+len(tail) {
		t.Errorf("%d bytes are written, %d were read, the layer has %d", len(b), len(old), len(tail))
	}
	if err := s.Rebase(&model.Rebase{Part: part}); err != nil {
		t.Fatal(err)
	}
}

// A layer that no stream can have learnt is refused.
func TestHostileLastLayer(t *testing.T) {
	p := newPlan(Default(), schemas()["two"])
	for _, c := range []struct {
		name  string
		spoil func(r *residuals)
	}{
		{"a mean above 1", func(r *residuals) { r.mean[1] = 1.5 }},
		{"a mean that is no number", func(r *residuals) { r.mean[0] = math.NaN() }},
		{"a slope below the least", func(r *residuals) { r.w[0] = .01 }},
		{"an infinite weight", func(r *residuals) { r.w[2] = math.Inf(1) }},
		{"a huge weight", func(r *residuals) { r.w[3] = 1e9 }},
		{"a share of 2", func(r *residuals) { r.share = 2 }},
		{"a lag below 0", func(r *residuals) { r.lag = -1 }},
		{"less squared gradients than at the start", func(r *residuals) { r.g[3] = 1 }},
	} {
		x := p.newResiduals()
		r := wire.NewReader(x.append(nil))
		if p.readResiduals(r); r.Done() != nil {
			t.Fatalf("a new layer is refused: %v", r.Done())
		}
		c.spoil(&x)
		r = wire.NewReader(x.append(nil))
		if p.readResiduals(r); r.Err() == nil {
			t.Errorf("%s is read", c.name)
		}
	}
}

// The residuals of two classes are opposites: a state of two classes that becomes one of three keeps its correction.
func TestCarriedLastLayer(t *testing.T) {
	two, many := schemas()["two"], schemas()["two"]
	more := *many
	more.Classes = append(append([]string(nil), many.Classes...), "third")
	m := &move{from: newPlan(Default(), two), to: newPlan(Default(), &more)}
	old := m.from.newResiduals()
	old.mean, old.w, old.g = []float64{.5, -.25, .125}, residualWeights{.9, 1, 2, 3}, residualWeights{5, 6, 7, 8}
	old.share, old.lag = .25, 12
	got := m.residuals(old)
	want := residuals{mean: []float64{-.5, .5, 0, .25, -.25, 0, -.125, .125, 0}, w: old.w, g: old.g, share: .25, lag: 12}
	if string(got.append(nil)) != string(want.append(nil)) {
		t.Errorf("%v, want %v", got, want)
	}
}
