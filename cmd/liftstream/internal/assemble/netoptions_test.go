package assemble

import (
	"path/filepath"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// netTwo are the lines of netText for two classes, with no more than a label.
var netTwo = []string{
	"  label: {column: class, classes: [no, yes], positive: yes}",
	"-control:",
	"output: {features: all, why: 4, interval: 80%, unusual: 5%}",
	"    - {name: empty, ", "    - {name: constant, ", "    - {name: hour, ", "    - {name: limit, ",
}

// netOff are the lines that leave the scorecard of the lifts alone.
var netOff = []string{"local: off", "kernel: off", "trees: off"}

// netOptions are configurations beside those of everything, by the options that they are about.
var netOptions = []struct {
	name   string
	inside bool // the state is written down, too
	lines  []string
}{
	{"follow", true, []string{
		"propensity: {cells: 4, half_lives: [50, 0], sign: follow, residuals: off, linear: false, step: 0.3, prior: 2}",
		"lift: {quantiles: 2, joint: product, sets: {max: 2, search: exhaustive, rank: eta, top: 5}, windows: {top: 2, " +
			"contiguous: true, min_mass: 0.02, overlapping: keep}, profiles: {rank: lift, redundant: keep, of: [yes], top: 6}}",
		"local: {observation: record, redundancy: max, divergence: to_reference, theta: 0.3, neighbours: 3, " +
			"prototypes: 16, newest: 0}",
		"kernel: {mode: ridge, input: product, triples: 50}",
		"trees: {rounds: 20, leaves: 4, rate: 0.3, gate: 0}"}},
	{"literal", false, []string{
		"propensity: {cells: 8, half_lives: [5, 100], calibration: {knots: 5, half_life: 100, prior: 3}}",
		"lift: {quantiles: 5, sets: {min: 2, max: 3, search: beam, top: 4}, windows: {top: 3, min_mass: 0}, " +
			"profiles: {rank: validated, validate: 0.4, min_support: 0.02, max_features: 3, top: 5}}",
		"local: {divergence: lower_bound, theta: 0, neighbours: 2, prototypes: 24, newest: 40, " +
			"width: 0.2, reference_sd: 0.2}",
		"kernel: {mode: literal, shape: full_gaussian, groups: kernels, triples: 60}",
		"trees: {rounds: 4, leaves: 2}"}},
	{"polynomial", false, []string{"local: off", "trees: off",
		"kernel: {shape: full_polynomial, gamma1: 1, gamma2: 0.1, " +
			"triples: 80}"}},
	{"triangular", false, []string{"local: off", "trees: off",
		"kernel: {shape: triangular, input: sum, triples: 80, widths: [1]}"}},
	{"linear", false, []string{"local: off", "trees: off", "kernel: {mode: ridge, shape: full_linear, triples: 80}"}},
	{"base_rates", false, append([]string{"  label: {column: class, classes: [a, b, c]}",
		"    - {name: income, kind: continuous, special: [-999, -888], bins: {min: 0.2}}", "drift: off", "-dedup:",
		"-derive:", "propensity: {cells: 3, half_lives: [0], base_rates: {a: 0.5, b: 0.3, c: 0.2}, prior: 50}",
		"min_count: 1"}, netOff...)},
	{"control", false, append([]string{"control: {share: 0.5, by: id, seed: 9, treated: called, learn: control}",
		"labels: {window: 2h, late: correct, correct: 10m, match: first}"}, netOff...)},
	{"untreated", true, append([]string{
		"control: {share: 0.5, by: record, seed: 9, treated: called, learn: untreated, uplift: on}",
		"labels: {window: 25m, late: ignore, match: all}"}, netOff...)},
	{"expired", true, append([]string{"labels: {window: 13m, on_expiry: no, late: correct, correct: 10m, match: all}"},
		netOff...)},
	{"expired_goals", false, append([]string{"labels: {window: 10m, late: ignore, max_bytes: 64KiB}",
		"  label: [{column: class, classes: [no, yes], positive: yes}, " +
			"{column: clicked, classes: [no, yes], positive: yes}]"}, netOff...)},
}

// TestNetOfManyRecords holds the figures of a stream that is longer than the windows of drift, the tail and the
// reservoir, with more ids and levels than the bounds of memory have room for.
func TestNetOfManyRecords(t *testing.T) {
	modeltest.Computes(t)
	n := newNet(t, netVariant(netVariant(netText, netTwo...), append([]string{
		"    - {name: city, kind: nominal}\n    - {name: code, kind: nominal}",
		"    - {name: income, ", "    - {name: shoe, ",
		"segments: {grown: \"age >= 50\", cooks: \"job = cook\"}",
		"memory: {recency: 64KiB, tail: 64KiB}", "dedup: {by: id, window: 2h, max_bytes: 64KiB}", "min_count: 21",
		"labels: {window: 11h, late: correct, max_bytes: 256KiB}", "propensity: {half_lives: [30, 3h, 1000], cells: 5}",
		"fit: {warmup: 200, records: 2000, reservoir: {records: 200}}"}, netOff...)...))
	n.sparse = 499
	n.run("cold", 2000)
	n.anew("model 1")
	n.run("one", 5000)
	n.refit("model 2", 5500)
	n.state("half", 1)
	n.forget("forget", 5001, 5201, 4003)
	n.run("two", 8000)
	n.state("end", 0)
	n.f.Golden(t, filepath.Join("testdata", "net", "many.txt"))
}

// TestNetOfOptions holds the figures of a short stream under each of the options: two models, a comparison, a restart,
// a model of files, and the scorecard as a sum of effects.
func TestNetOfOptions(t *testing.T) {
	modeltest.Computes(t)
	for _, o := range netOptions {
		t.Run(o.name, func(t *testing.T) {
			n := newNet(t, netVariant(netVariant(netText, netTwo...), o.lines...))
			n.run("cold", 120)
			n.anew("model 1")
			n.refit("model 2", 220)
			n.run("two", 260)
			if o.inside {
				n.state("end", 0)
			}
			n.peek("peek")
			n.additive("additive", n.fromFiles("files"))
			n.f.Golden(t, filepath.Join("testdata", "net", "options", o.name+".txt"))
		})
	}
}

// additive writes down the scorecard of the lifts as a sum of effects, where it is one.
func (n *net) additive(name string, m *model.Model) {
	n.t.Helper()
	p := model.NewPartition(n.stage.Base(), 0)
	if err := p.Swap(m); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	a, err := Additive(p)
	if err != nil {
		n.f.Add(name, err.Error())
		return
	}
	n.f.Inside(name, a)
}
