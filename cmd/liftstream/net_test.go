package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/modeltest"
)

// netBank is a configuration of the bank records with more of everything than the example.
const netBank = `
name: bank
record:
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  weight: campaign
  features:
    - {name: age, kind: continuous, cuts: [30, 45, 60]}
    - {name: job, kind: nominal}
    - {name: marital, kind: nominal, use: report}
    - {name: education, kind: ordinal, levels: [primary, secondary, tertiary]}
    - {name: balance, kind: continuous, bins: {min: 0.1, monotone: auto}}
    - {name: housing, kind: nominal}
    - {name: pdays, kind: continuous, special: [-1]}
    - {name: previous, kind: continuous, use: never}
    - {name: poutcome, kind: nominal}
derive: {rich: "log(balance)", share: "ratio(balance, previous)", often: "bucket(previous, 1, 3)"}
lift: {sets: {max: 2, top: 8}, windows: {top: 5}, profiles: {top: 5, max_features: 2}}
kernel: {triples: 200}
local: {prototypes: 64}
value: {hit: 50, contact: 4}
points: {base: 500, odds: 20, pdo: 30}
segments: {owners: "housing = yes", old: "age > 60 | education = tertiary"}
output: {interval: 90%, unusual: 2%, why: 4}
min_count: 25
fit: {records: 300}
`

// netNumber is a number in a text, netVaried a part of one that differs from run to run.
var (
	netNumber = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)
	netVaried = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?|[\d.]+ (ms|s|µs)\b|` +
		`\d+(/s| records/s)\b|"(records_per_second|seconds)": ?[\d.e+-]+|127\.0\.0\.1:\d+|\b[\w.-]+@[\w.-]+|` +
		`\d+ (B|KiB) {2,}\d+ (B|KiB)`)
)

// commandNet is a net of the answers of commands.
type commandNet struct {
	t   *testing.T
	f   modeltest.Figures
	dir string
}

// plain is a text without the parts that differ from run to run.
func (n *commandNet) plain(text string) string {
	return netVaried.ReplaceAllString(strings.ReplaceAll(text, n.dir, "DIR"), "VARIES")
}

// told writes down the answer of a command line: status, standard error and standard output, of a long one a digest.
func (n *commandNet) told(name string, args ...string) {
	n.t.Helper()
	r := command(n.t, args...)
	n.f.Add(name, "status", r.status)
	n.f.Text(name+" stderr", n.plain(r.err))
	n.text(name, n.plain(r.out))
}

// longText is the length from which on a text is written down as a digest.
const longText = 12_000

func (n *commandNet) text(name, text string) {
	if len(text) < longText {
		n.f.Text(name, text)
		return
	}
	h := fnv.New32a()
	for i, line := range strings.Split(text, "\n") {
		sum, byPlace := 0., 0.
		numbers := netNumber.FindAllString(line, -1)
		for k, s := range numbers {
			v, _ := strconv.ParseFloat(s, 64)
			sum += v
			byPlace += v * float64(k+1)
		}
		fmt.Fprintln(h, netNumber.ReplaceAllString(line, "N"))
		if i%(len(text)/longText+1) == 0 {
			n.f.Add(fmt.Sprintf("%s:%d digest", name, i+1), len(numbers), sum, byPlace, fmt.Sprintf("#%x", h.Sum32()))
		}
	}
}

// json writes down the JSON that a command line answers with, without the keys that tell of time.
func (n *commandNet) json(name string, args ...string) {
	n.t.Helper()
	r := command(n.t, args...)
	n.f.Add(name, "status", r.status, n.plain(r.err))
	var v map[string]any
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	for _, key := range []string{"records_per_second", "seconds"} {
		delete(v, key)
	}
	n.f.JSON(n.t, name, v)
}

// write writes a file and returns its path.
func (n *commandNet) write(name string, text []byte) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// lines returns the first line of a file and one of step lines behind it.
func (n *commandNet) lines(file string, step int) []byte {
	n.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	out := bytes.Clone(lines[0])
	for i := 1; i < len(lines); i += step {
		out = append(out, lines[i]...)
	}
	return out
}

// TestNetOfFiles holds the answers of the commands about files: of votes by their shipped configuration, and of a
// quarter of the bank records by one with more options (CONTRIBUTING.md 4.3).
func TestNetOfFiles(t *testing.T) {
	modeltest.Computes(t)
	for _, c := range []struct {
		name, class, config string
		step                int
	}{{"votes", "republican", "", 1}, {"bank", "yes", netBank, 4}} {
		t.Run(c.name, func(t *testing.T) {
			n := &commandNet{t: t, dir: t.TempDir()}
			data := n.write("data.csv", n.lines("examples/"+c.name+".csv", c.step))
			text := []byte(c.config)
			if c.config == "" {
				text = n.lines("examples/"+c.name+".yaml", 1)
			}
			config, m := n.write(c.name+".yaml", text), filepath.Join(n.dir, "model")
			n.told("lint", "lint", config)
			n.told("init", "init", data, "--label", "class")
			n.told("fit", "fit", "-c", config, data, "--model", m, "--report", filepath.Join(n.dir, "fit.json"))
			n.json("report of fit", "fit", "-c", config, data, "--report", "-")
			n.told("fit as of end", "fit", "-c", config, data, "--as-of", "end")
			n.told("inspect", "inspect", m)
			n.told("score", "score", "-c", config, "--model", m, data)
			n.told("explain", "score", "-c", config, "--model", m, data, "--explain")
			n.told("record", "score", "-c", config, "--model", m, data, "--record", "7")
			scores := filepath.Join(n.dir, "scores.csv")
			n.told("lift", "score", "-c", config, "--model", m, data, "--method", "lift", "--out", scores)
			n.text("scores", string(n.lines(scores, 1)))
			n.told("audience", "audience", scores, "--top", "10", "--by", c.class)
			n.told("audience of a share", "audience", scores, "--share", "5%", "--by", c.class,
				"--out", filepath.Join(n.dir, "audience.csv"), "--json")
			n.told("eval", "eval", "-c", config, data, "--skip", "100", "--delay", "10")
			n.json("eval.json", "eval", "-c", config, data, "--skip", "0", "--json", "-", "--partitions", "2", "--method", "all",
				"--method", "prior")
			n.told("folds", "eval", "-c", config, data, "--protocol", "folds", "--folds", "3", "--method", "lift")
			n.told("page", "report", m, "-c", config, "--fit", filepath.Join(n.dir, "fit.json"), "--html", "-")
			for _, format := range []string{"csv", "json", "sql", "pmml"} {
				n.told(format, "model", "export", "-c", config, "--model", m, "--format", format, "--out", "-")
			}
			n.f.Golden(t, filepath.Join("testdata", "net", c.name+".txt"))
		})
	}
}

// TestNetOfTopics holds the answers of the commands about the topics of a stage that has begun with files.
func TestNetOfTopics(t *testing.T) {
	w := newWorld(t, "")
	n := &commandNet{t: t, dir: filepath.Dir(w.file)}
	before, _, _ := w.parts(300, 400)
	w.must("topics", "create", "-c", w.file)
	if r := command(t, "bootstrap", "-c", w.file, before); r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	for i, args := range [][]string{{"topics", "describe"}, {"model", "list"}, {"model", "show", "5"},
		{"inspect", "--topic", "model"}, {"inspect", "--topic", "state"}, {"dead", "list"},
		{"model", "export", "4", "--format", "csv", "--out", "-"}, {"model", "freeze", "--why", "a test"}, {"model", "list"},
		{"model", "pin", "4"}, {"model", "unfreeze"}, {"model", "rollback", "9"}, {"model", "list"}} {
		n.told(fmt.Sprintf("%d %s", i, strings.Join(args, " ")), append(args, "-c", w.file)...)
	}
	n.f.Golden(t, filepath.Join("testdata", "net", "topics.txt"))
}
