package assemble

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/wire"
)

// stump is a component in its smallest form: the class counts on both sides of 50 in the first feature.
type stump struct{ schema *model.Schema }

func (f *stump) Name() string { return "stump" }

func (f *stump) Contribution() model.Contribution {
	return model.Contribution{Term: "(stump)", Inputs: 1}
}

func (f *stump) New(*model.Levels) model.Component { return &side{schema: f.schema} }

func (f *stump) Fit(ctx context.Context, ev *model.Evidence, _ []byte) ([]byte, error) {
	c := side{schema: f.schema, counts: make([]float64, 2*len(f.schema.Classes))}
	row := make(model.Row, len(f.schema.Features))
	for i, y := range ev.Class {
		ev.Row(i, row)
		if at := c.at(row); at >= 0 {
			c.counts[at+int(y)] += ev.Weight[i]
		}
	}
	return c.AppendState(nil), ctx.Err()
}

func (f *stump) Report(part []byte, _ *model.Levels, r *report.Report) error {
	c := side{schema: f.schema}
	if err := c.LoadState(part); err != nil {
		return err
	}
	r.Other = map[string]any{f.Name(): report.Numbers(c.counts)}
	return nil
}

func (f *stump) Summary(r *report.Report) []string {
	return []string{fmt.Sprintf("Stump: %v", r.Other[f.Name()])}
}

type side struct {
	schema *model.Schema
	counts []float64 // sides x classes
}

func (c *side) at(row model.Row) int {
	switch k := len(c.schema.Classes); {
	case row[0] > 50:
		return k
	case row[0] <= 50:
		return 0
	}
	return -1
}

func (c *side) Learn(*model.Example)   {}
func (c *side) Retract(*model.Example) {}

func (c *side) InputCount() int { return min(len(c.counts), 1) }

func (c *side) Inputs(row model.Row, dst []float64) { c.without(row, -1, 0, dst) }

func (c *side) InputsWithout(ex *model.Example, dst []float64) {
	c.without(ex.Row, int(ex.Class), ex.Weight, dst)
}

// without writes ln((n_y + 1) / (n + classes) classes) of the row's side without a record of the class and weight.
func (c *side) without(row model.Row, class int, weight float64, dst []float64) {
	clear(dst)
	at := c.at(row)
	if at < 0 {
		return
	}
	n := slices.Clone(c.counts[at : at+len(dst)])
	if class >= 0 {
		n[class] = max(n[class]-weight, 0)
	}
	sum := 0.
	for _, v := range n {
		sum += v
	}
	for y := range dst {
		dst[y] = math.Log((n[y] + 1) / (sum + float64(len(dst))) * float64(len(dst)))
	}
}

func (c *side) AppendState(b []byte) []byte { return wire.AppendFloats(b, c.counts) }

func (c *side) LoadState(b []byte) error {
	r := wire.NewReader(b)
	c.counts = r.Floats()
	if n := len(c.counts); n != 0 && n != 2*len(c.schema.Classes) {
		r.Fail(fmt.Errorf("%d counts", n))
	}
	return r.Done()
}

func (c *side) Rebase(rb *model.Rebase) error { return c.LoadState(rb.Part) }

// withStump adds a row to the table of components.
func withStump(t *testing.T) {
	was := components
	t.Cleanup(func() { components = was })
	components = append(slices.Clone(was), component{
		name:    "stump",
		factory: func(_ *config.Config, s *model.Schema) model.Factory { return &stump{s} },
	})
}

const fourth = `
name: test
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: x, kind: continuous}, {name: l, kind: nominal}]
topics: {labels: late}
fit: {warmup: 100}
output: {why: 5}
`

// fourthRows are n records from a position on; every fifth comes without its label.
func fourthRows(from, n int, all bool) *model.Batch {
	b := &model.Batch{N: n, Offset: int64(from), Columns: make([]model.Column, 2), Time: make([]int64, n)}
	b.Columns[1].Levels = []string{"a", "b"}
	for i := from; i < from+n; i++ {
		h := model.Hash(1, uint64(i))
		b.Columns[0].Float = append(b.Columns[0].Float, float64(h%100))
		b.Columns[1].Code = append(b.Columns[1].Code, uint32(h>>8%2))
		y := int32(0)
		if h>>16%100 < h%100 {
			y = 1
		}
		if !all && i%5 == 0 {
			y = model.Unlabelled
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(i-from))
	}
	return b
}

// TestAFourthComponent: a component in one folder and one row of the table is fitted, reported, evaluated and
// explained, and states and models of before serve on.
func TestAFourthComponent(t *testing.T) {
	before := stage(t, fourth)
	old := model.NewPartition(before.Spec, 0)
	var out model.Scores
	old.Events(fourthRows(0, 1000, false), &out)
	states := model.Held{0: old.Snapshot()}
	oldModel, err := model.Fit(t.Context(), before.Spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}

	withStump(t)
	s := stage(t, fourth)
	if s.Spec.Options.Fingerprint != before.Spec.Options.Fingerprint {
		t.Error("a component with default settings changes the fingerprint")
	}
	p, err := model.RestorePartition(s.Spec, states[0])
	if err != nil {
		t.Fatalf("a state of before is not read: %v", err)
	}
	var mine, theirs model.Scores
	p.Events(fourthRows(1000, 100, false), &mine)
	old.Events(fourthRows(1000, 100, false), &theirs)
	for i := range mine.P {
		if math.Abs(mine.P[i]-theirs.P[i]) > 1e-12 {
			t.Fatalf("propensity %d is %v with an empty component more, %v without", i, mine.P[i], theirs.P[i])
		}
	}
	labels := &model.Labels{N: 1, Class: []int32{1}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{0}}
	if c := p.Labels(labels); c.Learnt != 1 {
		t.Errorf("a record that waited for its label was not learnt: %+v", c)
	}
	if err := p.Swap(oldModel); err != nil {
		t.Fatalf("a model of before does not serve: %v", err)
	}
	p.Events(fourthRows(1100, 100, true), &mine)

	states = model.Held{0: p.Snapshot()}
	m, err := model.Fit(t.Context(), s.Spec, states, oldModel)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	if n := p.Component("stump").InputCount(); n != 1 {
		t.Fatalf("%d inputs after the fit", n)
	}
	for from := 1200; from < 3200; from += 100 {
		p.Events(fourthRows(from, 100, true), &mine)
	}
	explained(t, s, p)

	again, err := model.RestorePartition(s.Spec, p.Snapshot())
	if err != nil {
		t.Fatalf("its own state is not read: %v", err)
	}
	a, b := again.Snapshot(), p.Snapshot()
	for name := range b {
		if string(a[name]) != string(b[name]) {
			t.Errorf("section %s is another after a restart", name)
		}
	}

	r := &report.Report{}
	if err := s.Sections(m, r); err != nil {
		t.Fatal(err)
	}
	if r.Other["stump"] == nil || len(r.Sets) == 0 || r.Local == nil || r.Kernel == nil {
		t.Error("a section is missing in the report")
	}
	text := strings.Join(s.Summary(r), "\n")
	if !strings.Contains(text, "Stump: ") || !strings.Contains(text, "Kernel (") {
		t.Errorf("summary %q", text)
	}
	methods(t, s)

	// And back: a build without the component reads the state and the model.
	q, err := model.RestorePartition(before.Spec, b)
	if err != nil {
		t.Fatalf("a state with a component more is not read: %v", err)
	}
	if err := q.Swap(m); err != nil {
		t.Fatalf("a model with a component more does not serve: %v", err)
	}
	q.Events(fourthRows(3200, 100, true), &out)
}

// explained checks that the contributions of scores, the new term among them, sum to the log-odds, and that the term is
// published.
func explained(t *testing.T, s *Stage, p *model.Partition) {
	t.Helper()
	spec := *s.Spec
	spec.Options.Why = -1
	all, err := model.RestorePartition(&spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var out model.Scores
	all.Events(fourthRows(4000, 50, true), &out)
	named := 0.
	for i := range out.N {
		sum := 0.
		for _, r := range out.WhyOf(i) {
			sum += r.Effect
			if out.TermName(spec.Schema, r.Feature) == "(stump)" {
				named = max(named, math.Abs(r.Effect))
			}
		}
		odds := out.P[2*i+int(out.Target[i])]
		if want := math.Log(odds / (1 - odds)); math.Abs(sum-want) > 1e-9 {
			t.Fatalf("record %d: contributions sum to %v, the log-odds are %v", i, sum, want)
		}
	}
	if named == 0 {
		t.Error("the new component contributes nothing")
	}
}

// methods checks that eval has the component's methods, and runs them.
func methods(t *testing.T, s *Stage) {
	t.Helper()
	var names []string
	var run []evaluate.Method
	for _, m := range Methods() {
		names = append(names, m.Name)
		if !strings.Contains(m.Name, "stump") {
			continue
		}
		x, err := s.Method(m, func(*model.Spec) {})
		if err != nil {
			t.Fatal(err)
		}
		run = append(run, x)
	}
	want := "all lift lift+local lift+kernel lift+trees lift+stump local kernel trees stump knn prior"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("methods %s, want %s", got, want)
	}
	records := 0
	source := func(yield func(*model.Batch, error) bool) { yield(fourthRows(0, 600, true), nil) }
	sink := func(r *evaluate.Record) error {
		records++
		for k := range run {
			out := r.Scores[k]
			for _, x := range out.WhyOf(r.Row) {
				if name := out.TermName(s.Spec.Schema, x.Feature); run[k].Name == "stump" && name == "(local)" {
					t.Errorf("the share of the stump is called %s", name)
				}
			}
		}
		return nil
	}
	if _, err := evaluate.Prequential(t.Context(), s.Spec.Schema, source, run, evaluate.Options{}, sink); err != nil {
		t.Fatal(err)
	}
	if records != 600 {
		t.Errorf("%d records", records)
	}
}

// TestASwitchedOffComponentIsGone: it costs nothing, and a state with it is carried over.
func TestASwitchedOffComponentIsGone(t *testing.T) {
	whole := stage(t, fourth)
	p := model.NewPartition(whole.Spec, 0)
	var out model.Scores
	p.Events(fourthRows(0, 1000, false), &out)
	for _, text := range []string{"kernel: off\n", "local: off\n", "local: off\nkernel: off\n", "trees: off\n"} {
		s := stage(t, fourth+text)
		for _, name := range []string{"local", "kernel", "trees"} {
			if err := s.Has(name); (err == nil) == strings.Contains(text, name) {
				t.Errorf("%q: the stage has %s: %v", text, name, err)
			}
		}
		state := p.Snapshot()
		schema, frame, err := model.Origin(state[model.SectionSchema])
		if err != nil || frame != s.Spec.Options.Frame {
			t.Fatalf("%q: frame %d, want %d (%v)", text, frame, s.Spec.Options.Frame, err)
		}
		spec, _, err := s.Under(schema, whole.Spec.Options.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		old, err := model.RestorePartition(spec, state)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		q, _, err := old.Carry(s.Spec)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		q.Events(fourthRows(1000, 100, false), &out)
		if q.Labelled() <= p.Labelled() || !q.Trained() {
			t.Errorf("%q: %v records, trained %v", text, q.Labelled(), q.Trained())
		}
		// And on again.
		spec, _, err = whole.Under(schema, s.Spec.Options.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		if old, err = model.RestorePartition(spec, q.Snapshot()); err != nil {
			t.Fatalf("%q: on again: %v", text, err)
		}
		if _, _, err := old.Carry(whole.Spec); err != nil {
			t.Fatalf("%q: on again: %v", text, err)
		}
		for _, m := range Methods() {
			_, err := s.Method(m, func(*model.Spec) {})
			off := slices.ContainsFunc(strings.Split(m.Name, "+"), func(n string) bool {
				return strings.Contains(text, n+": off")
			})
			if off != (err != nil) {
				t.Errorf("%q: method %s: %v", text, m.Name, err)
			}
		}
	}
}
