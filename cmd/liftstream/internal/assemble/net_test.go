package assemble

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// netText is the configuration of the net with everything at once. Lines of other variants take the place of those that
// begin alike.
const netText = `
name: net
record:
  id: who
  time: {column: at, unit: s}
  weight: w
  missing: [NA]
  label: {column: class, classes: [none, small, large, gone], positive: large}
  features:
    - {name: age, kind: continuous}
    - {name: income, kind: continuous, special: [-999, -888], bins: {min: 0.05, monotone: auto}}
    - {name: limit, kind: continuous, cuts: [0, 500, 2000]}
    - {name: drifting, kind: continuous}
    - {name: hour, kind: continuous}
    - {name: constant, kind: continuous}
    - {name: empty, kind: continuous}
    - {name: job, kind: nominal}
    - {name: city, kind: nominal}
    - {name: education, kind: ordinal, levels: [primary, secondary, tertiary]}
    - {name: region, kind: nominal, use: report}
    - {name: shoe, kind: continuous, use: report}
derive: {last: since_last(), visits: "count(2h, job = clerk)", day: count(1d)}
lift: {quantiles: 4, sets: {max: 2, top: 8}, windows: {top: 6}, profiles: {top: 8, max_features: 2}}
propensity: {cells: 6, half_lives: [20, 300, 6h], monotone: {age: up, education: auto}, calibration: {half_life: 500}}
local: {prototypes: 64, newest: 96, observations: 32, half_life: 2000, pool: {bytes: 64KiB, half_life: 5h}}
kernel: {triples: 150, widths: [0.3, 1]}
trees: {rounds: 12, leaves: 6, half_life: 1000, gate: 0}
fit: {warmup: 80, records: 400, gate: 0.5, reservoir: {records: 256}, seed: 5}
memory: {recency: 1MiB}
labels: {window: 3h, late: correct, correct: 3h, match: newest, max_bytes: 1MiB}
dedup: {by: id, window: 2m, max_bytes: 1MiB}
control: {share: 0.2, by: id, seed: 3, treated: called, learn: untreated, uplift: on}
value: {hit: 40, contact: 1.5}
segments: {grown: "age >= 50 & (job = cook | education > primary)", odd: "income = -999 | income = NA"}
drift: {false_alarms: 0.2}
min_count: 20
output: {features: all, why: 6, interval: 90%, unusual: 2%}
`

// netVariant returns a configuration with the given lines in place of those of the same key, or of the same name of a
// feature. A feature without a kind goes, and a
// key behind a minus.
func netVariant(text string, lines ...string) string {
	for _, line := range lines {
		key, _, _ := strings.Cut(line, ":")
		if gone, ok := strings.CutPrefix(key, "-"); ok {
			key, line = gone, ""
		}
		if feature, _, ok := strings.Cut(line, ","); ok && strings.HasPrefix(line, "    - ") {
			key = feature
			if strings.HasSuffix(line, ", ") {
				line = ""
			}
		}
		from := strings.Index(text, "\n"+key) + 1
		if from == 0 {
			text += line + "\n"
			continue
		}
		to := from + strings.Index(text[from:], "\n")
		text = strings.Replace(text[:from]+line+text[to:], "\n\n", "\n", 1)
	}
	return text
}

// snapshots are the states of the partitions.
func (n *net) snapshots() model.Held {
	states := model.Held{}
	for p, part := range n.partitions {
		states[int32(p)] = part.Snapshot()
	}
	return states
}

// swap makes a model the serving one, and writes its content down.
func (n *net) swap(name string, m *model.Model) {
	n.t.Helper()
	for _, p := range n.partitions {
		if err := p.Swap(m); err != nil {
			n.t.Fatalf("%s: %v", name, err)
		}
	}
	n.published(name, m)
	n.model = m
}

// published writes the content of a model down.
func (n *net) published(name string, m *model.Model) {
	n.t.Helper()
	n.f.Add(name, m.Version, m.Info.Records, m.Info.Weight, m.Info.Previous, m.Info.Exchangeable, m.Info.Verdict.Reason,
		m.Info.Verdict.Records, m.Info.Verdict.New, m.Info.Verdict.Old, m.Info.Verdict.Low, m.Info.Verdict.High,
		fmt.Sprint(m.Marks), fmt.Sprint(m.Shares), fmt.Sprint(m.Narrowed))
	var r report.Report
	if err := n.stage.Sections(m, &r); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.f.Inside(name+" report", &r)
	n.f.Text(name+" summary", strings.Join(n.stage.Summary(&r), "\n"))
	var parts bytes.Buffer
	if err := PrintParts(&parts, m); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.f.Text(name+" parts", parts.String())
}

// anew fits a model without the structure of the serving one, as the cold start does, and makes it serve.
func (n *net) anew(name string) {
	n.t.Helper()
	m, err := model.FitAnew(n.t.Context(), n.stage.Spec, n.snapshots(), n.model)
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.swap(name, m)
}

// refit fits a model, runs on to a position, compares it there with the serving one, and makes it serve by any
// verdict.
func (n *net) refit(name string, to int) {
	n.t.Helper()
	ctx, spec, from := n.t.Context(), n.stage.Spec, n.snapshots()
	m, err := model.Fit(ctx, spec, from, n.model)
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.run(name+" compared", to)
	states := n.snapshots()
	if m.Info.Verdict, err = model.Compare(ctx, spec, m, from, states, 150); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	sense, err := model.SenseOf(ctx, spec, n.model, states)
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.f.Add(name+" sense", sense.Records, sense.Loss, sense.Rates, sense.Exchanged, sense.Low, sense.Inverted(),
		sense.String())
	if m, err = model.Renew(ctx, spec, m, states); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	if m, err = model.DecodeModel(spec.Schema, m.AppendBinary(nil)); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.swap(name, m)
}

// restart restores the partitions from their states.
func (n *net) restart(name string) {
	n.t.Helper()
	for p := range n.partitions {
		restored, err := model.RestorePartition(n.stage.Spec, n.partitions[p].Snapshot())
		if err != nil {
			n.t.Fatalf("%s: %v", name, err)
		}
		n.partitions[p] = restored
	}
}

// state writes the content of a restored partition down.
func (n *net) state(name string, p int) {
	n.t.Helper()
	n.restart(name)
	n.f.Inside(fmt.Sprintf("%s p%d", name, p), n.partitions[p], "model.Spec", "model.Schema",
		"model.coder", "model.Row", "model.idIndex")
}

// forget takes records out of the first partition, and their prototypes out of the other.
func (n *net) forget(name string, positions ...int) {
	o := model.Erasure{Number: model.Obeyed(n.partitions[0]) + 1}
	for _, i := range positions {
		o.IDs = append(o.IDs, model.SumID(n.records[0].id(i)))
	}
	found, keys := model.Forget(n.partitions[0], &o)
	n.f.Add(name, fmt.Sprintf("%+v", found), len(keys))
	found, _ = model.Forget(n.partitions[1], &model.Erasure{Number: o.Number, Keys: keys})
	n.f.Add(name+" keys", fmt.Sprintf("%+v", found))
}

// peek writes down scores that leave the state as it is.
func (n *net) peek(name string) {
	var scores model.Scores
	b := n.records[1].batch(2000, 2005)
	model.Peek(n.partitions[1], b, &scores, func(l *model.Levels) {
		for i := range scores.N {
			n.score(fmt.Sprintf("%s #%d", name, i), &scores, i, l)
		}
	})
}

// carry moves the states to another configuration.
func (n *net) carry(name, text string) {
	n.t.Helper()
	n.use(stage(n.t, text))
	for p := range n.partitions {
		part, change, err := n.partitions[p].Carry(n.stage.Spec)
		if err != nil {
			n.t.Fatalf("%s: %v", name, err)
		}
		n.f.Add(name, change.String(), fmt.Sprint(change.Feature), fmt.Sprint(change.Inputs))
		n.partitions[p] = part
	}
}

// fromFiles fits a model of all records as those of files, and writes down its report and a score of it.
func (n *net) fromFiles(name string) *model.Model {
	n.t.Helper()
	m, err := n.files.Fit(n.t.Context())
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	ev := n.files.Exchangeable()
	r, err := n.stage.Report(name, n.files.Len(), ev, m)
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.stage.ReportGoals(n.files, m, r)
	if r.Importance, err = n.stage.Importance(ev, m); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.f.Inside(name, r)
	n.f.Text(name+" summary", strings.Join(n.stage.Summary(r), "\n"))
	n.f.Add(name+" short list", n.stage.ShortList(m))
	for p := range n.partitions {
		n.partitions[p] = model.NewPartition(n.stage.Spec, int32(p))
		if err := n.partitions[p].Swap(m); err != nil {
			n.t.Fatalf("%s: %v", name, err)
		}
	}
	n.peek(name)
	return m
}

// everything takes a net through all commands, at once and one after the other.
func everything(t *testing.T, name, text string, carried ...string) {
	t.Helper()
	modeltest.Computes(t)
	n := newNet(t, text)
	n.run("cold", 200)
	n.anew("model 1")
	first := n.model
	n.run("one", 300)
	n.refit("model 2", 400)
	n.run("two", 450)
	n.restart("restart")
	n.run("restarted", 520)
	n.forget("forget", 300, 440, 500, 510)
	n.run("forgotten", 560)
	model.SetLearning(n.partitions[1], false)
	n.run("still", 600)
	model.SetLearning(n.partitions[1], true)
	n.peek("peek")
	if err := model.Return(n.partitions[0], first, 1); err != nil {
		t.Fatal(err)
	}
	n.run("returned", 660)
	n.refit("model 3", 720)
	n.carry("carry", netVariant(text, carried...))
	n.state("carried", 1)
	n.run("carried", 800)
	n.model = nil
	n.anew("model 4")
	n.run("four", 900)
	n.state("end", 0)
	n.fromFiles("files")
	n.f.Golden(t, filepath.Join("testdata", "net", name+".txt"))
}

// netCarried are the changes of the features to which states are carried over.
var netCarried = []string{
	"    - {name: drifting, ",
	"    - {name: constant, kind: continuous, special: [7]}",
	"    - {name: education, kind: ordinal, levels: [primary, secondary, tertiary, other]}",
	"    - {name: city, kind: nominal}\n    - {name: extra, kind: continuous}",
}

// TestNetOfClasses holds all figures of a stream of four classes that has everything at once (CONTRIBUTING.md 4.3).
func TestNetOfClasses(t *testing.T) {
	everything(t, "classes", netText, append(netCarried,
		"  label: {column: class, classes: [none, small, large, gone, back], positive: large}")...)
}

// TestNetOfGoals holds those of a stream of two classes and three goals, one of which is never met.
func TestNetOfGoals(t *testing.T) {
	everything(t, "goals", netVariant(netText,
		"  label: [{column: class, classes: [no, yes], positive: yes}, "+
			"{column: clicked, classes: [no, yes], positive: yes}, {column: left, classes: [stays, leaves], positive: leaves}, "+
			"{column: never, classes: [no, yes], positive: yes}]",
		"control: {share: 0.3, by: record, seed: 4}",
		"output: {features: all, why: 3, interval: 50%, unusual: 1%, goals: why}"), netCarried...)
}
