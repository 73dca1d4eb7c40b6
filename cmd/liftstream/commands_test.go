package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// TestFlagsHaveTheirDefaults: each flag of each command, where its default is not empty.
func TestFlagsHaveTheirDefaults(t *testing.T) {
	want := map[string]string{"audience --max-ids": "10000000", "audience --min-propensity": "0", "audience --out": "-",
		"audience --top": "0", "broker --listen": "127.0.0.1:9092", "dead list --format": "table",
		"dead list --rows": "100", "dead replay --format": "table",
		"dead replay --max-replays": "3",
		"dead show --format":        "table",
		"dead skip --offset":        "-1", "dead skip --partition": "-1", "dead skip --stage": "events",
		"compare --alpha": "0.05", "compare --format": "table", "demo --data": "bank", "demo --dir": "liftstream-data",
		"demo --listen": "127.0.0.1:8080", "demo --rate": "5000", "eval --delay": "0",
		"eval --folds": "10", "eval --partitions": "1", "eval --protocol": "prequential", "eval --skip": "1000",
		"forget --format": "text", "forget --wait": "2m0s",
		"model export --format": "model", "model list --format": "table",
		"produce --batch": "1000", "produce --rate": "0", "produce --repeat": "1", "produce --topic": "events",
		"run --format": "0", "score --method": "all", "score --out": "-", "score --record": "0", "tail --follow": "true",
		"tail --format": "table", "tail --from": "end", "tail --rows": "0", "tail --topic": "scores",
		"--log-level": "info", "--log-format": "auto"}
	got := map[string]string{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"", "false", "[]"}, f.DefValue) {
				command := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "liftstream"), " ")
				got[strings.TrimSpace(command+" --"+f.Name)] = f.DefValue
			}
		})
	}
	walk(rootCommand(&cli.App{}))
	if !maps.Equal(got, want) {
		t.Errorf("the defaults are %v, want %v", got, want)
	}
}

func TestVersionHasEachFormatInItsLine(t *testing.T) {
	out := command(t, "version").out
	for name, n := range map[string]int{"state": model.StateFormat, "model": model.ModelFormat, "topics": state.Format} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +format %d$`, name, n)).MatchString(out) {
			t.Errorf("%s has format %d, version says\n%s", name, n, out)
		}
	}
}

// TestLintSpeaksOfEachFile: one that is wrong among good ones is found in any place.
func TestLintSpeaksOfEachFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, edit func(string) string) string {
		path := filepath.Join(dir, name)
		write(t, path, "examples/votes.yaml", edit)
		return path
	}
	good := file("good.yaml", func(s string) string { return s })
	unset := file("unset.yaml", func(s string) string { return s + "\nhttp: {token: ${LIFTSTREAM_TEST_NONE}}\n" })
	wrong := file("wrong.yaml", func(s string) string { return s + "\nlifts: {}\n" })
	lacks := file("lacks.yaml", func(s string) string { return s + "\npropensity: {calibration: {half_life: 24h}}\n" })
	for _, c := range []struct {
		files  []string
		status int
		named  []string
	}{{[]string{good}, cli.StatusDone, nil}, {[]string{good, unset}, cli.StatusDone, nil},
		{[]string{wrong, good}, cli.StatusInput, []string{wrong}}, {[]string{good, wrong}, cli.StatusInput, []string{wrong}},
		{[]string{lacks, good}, cli.StatusInput, []string{lacks}},
		{[]string{dir + "/none", wrong, good, lacks}, cli.StatusInput, []string{dir + "/none", wrong, lacks}}} {
		r := command(t, append([]string{"lint"}, c.files...)...)
		var named []string
		for line := range strings.Lines(r.out) {
			name, _, _ := strings.Cut(line, ":")
			named = append(named, name)
		}
		note := fmt.Sprintf("no problems in %d file", len(c.files))
		if r.status != c.status || !slices.Equal(named, c.named) || strings.HasPrefix(r.err, note) != (c.status == 0) {
			t.Errorf("%q: status %d, want %d; %s%s", c.files, r.status, c.status, r.out, r.err)
		}
	}
}

// TestInitKeepsClearOfTheColumnsOfScores: a feature of such a name could not be handed on.
func TestInitKeepsClearOfTheColumnsOfScores(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("percentile,propensity_yes,x,y\n")
	for i := range 300 {
		h := model.Hash(3, uint64(i))
		fmt.Fprintf(&b, "%d,%d,%d,%s\n", h%97, h>>8%89, h>>16%83, []string{"no", "yes"}[h>>30%2])
	}
	file := filepath.Join(dir, "Some Data.v2.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := command(t, "init", file, "--label", "y")
	for _, name := range []string{"percentile", "propensity_yes"} {
		if r.status != cli.StatusDone || !strings.Contains(r.err, name) {
			t.Errorf("status %d, nothing is said of %s:\n%s%s", r.status, name, r.out, r.err)
		}
	}
	for path, want := range map[string]string{file: "some-data", "/a/B_c-9.tar.gz": "b_c-9", "ü.csv": "stage",
		"-.csv": "stage", ".csv": "stage", strings.Repeat("x", 101) + ".csv": strings.Repeat("x", 100)} {
		if got := nameOf(path); got != want {
			t.Errorf("%s becomes %q, want %q", path, got, want)
		}
	}
	if !strings.Contains(r.out, "\nname: some-data") && !strings.HasPrefix(r.out, "name: some-data") {
		t.Errorf("the configuration has another name:\n%s", r.out)
	}
}

// few is the head of the votes.
func (w *world) few(rows int) string {
	w.t.Helper()
	name := filepath.Join(w.t.TempDir(), "few.csv")
	write(w.t, name, w.data, func(s string) string {
		return strings.Join(strings.SplitAfter(s, "\n")[:rows+1], "")
	})
	return name
}

// TestProduceSaysWhatItSent, and a rate makes ten messages a second, of one record at least.
func TestProduceSaysWhatItSent(t *testing.T) {
	w := newWorld(t, "labels: {}")
	w.must("topics", "create", "-c", w.file)
	few := w.few(12)
	sent := 0
	for _, c := range []struct {
		args string
		says string
		rows int // of the first message
	}{
		{"--batch 5", "sent 12 records in 3 messages to votes-events", 5},
		{"--batch 5 --repeat 2", "sent 24 records in 6 messages to votes-events", 5},
		{"--batch 5 --rate 100000", "sent 12 records in 3 messages to votes-events", 5},
		{"--batch 5 --rate 49", "sent 12 records in 3 messages to votes-events", 4},
		{"--batch 1", "sent 12 records in 12 messages to votes-events", 1},
		{"--rate 9 --batch 50", "sent 12 records in 12 messages to votes-events", 1},
	} {
		r := w.must(append([]string{"produce", "-c", w.file, few}, strings.Fields(c.args)...)...)
		if !strings.HasPrefix(r.err, c.says+" (") {
			t.Errorf("%s: %q, want %q", c.args, r.err, c.says)
		}
		all := w.records(w.config.Topics.Events)
		if rows := len(column(t, all[sent].Value, "member")); rows != c.rows {
			t.Errorf("%s: the first message has %d rows, want %d", c.args, rows, c.rows)
		}
		sent = len(all)
	}
	labels := filepath.Join(t.TempDir(), "labels.csv")
	if err := os.WriteFile(labels, []byte("member,class\n7,democrat\n8,republican\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.must("produce", "-c", w.file, labels, "--topic", "labels"); !strings.HasPrefix(r.err,
		"sent 2 records in 1 message to votes-labels (") {
		t.Errorf("labels: %q", r.err)
	}
	// Each topic is printed under its own name, with its own rows alone.
	tail := func(topic string) string {
		return w.must("tail", "-c", w.file, "--topic", topic, "--from", "start", "--follow=false", "--format", "csv").out
	}
	if got := tail("labels"); got != "member,class\n7,democrat\n8,republican\n" {
		t.Errorf("the labels are %q", got)
	}
	for topic, rows := range map[string]int{"events": 7 * 12, "scores": 0, "dead": 0, "model": 0} {
		if got := max(strings.Count(tail(topic), "\n")-1, 0); got != rows {
			t.Errorf("%s holds %d rows, want %d", topic, got, rows)
		}
	}
	w.produce([]byte("no events"), 0)
	r := w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "--follow=false", "-n", "0")
	said := fmt.Sprintf("votes-events, partition 0, offset %d: ", sent)
	if strings.Count(r.out, "\n") != 7*12+1 || !strings.HasPrefix(r.err, said) {
		t.Errorf("beside a message that cannot be read: %d lines, %q", strings.Count(r.out, "\n"), r.err)
	}
}

// TestTopicsAreDescribed: each figure in its column.
func TestTopicsAreDescribed(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 3}")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.few(12), "--batch", "1")
	out := w.must("topics", "describe", "-c", w.file).out
	for _, want := range []string{`votes-events +3 +1 +delete +\d+ +12`, `votes-scores +3 +1 +delete +\d+ +0`,
		`votes-state +3 +1 +compact +\d+ +0`, `votes-model +1 +1 +compact +\d+ +0`, `votes-dead +3 +1 +delete +\d+ +0`} {
		if !regexp.MustCompile(`(?m)^` + want + `\s*$`).MatchString(out) {
			t.Errorf("no line %s in\n%s", want, out)
		}
	}
}

// TestResumeNamesThePartitions that it was told of, and how far it accepts them.
func TestResumeNamesThePartitions(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 3}\nlabels: {}")
	w.must("topics", "create", "-c", w.file)
	for p := range 3 {
		for range p + 1 {
			w.produce([]byte("no events"), p)
		}
	}
	line := func(p, events int) string {
		return fmt.Sprintf("partition %d: events below offset %d and labels below offset 0 count no more\n", p, events)
	}
	for _, c := range []struct {
		args   string
		status int
		out    string
	}{
		{"--partition 1", cli.StatusDone, line(1, 0)}, {"--all", cli.StatusDone, line(0, 0) + line(1, 0) + line(2, 0)},
		{"--partition 2 --partition 0 --through-end", cli.StatusDone, line(2, 3) + line(0, 1)},
		{"--all --through-end", cli.StatusDone, line(0, 1) + line(1, 2) + line(2, 3)},
		{"--partition 3", cli.StatusInput, ""}, {"--partition 0 --partition 4", cli.StatusInput, ""},
		{"--partition -1", cli.StatusInput, ""}, {"", cli.StatusUsage, ""}, {"--all --partition 0", cli.StatusUsage, ""},
	} {
		r := command(t, append([]string{"resume", "-c", w.file}, strings.Fields(c.args)...)...)
		if r.status != c.status || r.out != c.out || c.status == cli.StatusInput &&
			!strings.Contains(r.err, "votes-events has the partitions 0 to 2") {
			t.Errorf("%s: status %d, want %d; %q, want %q; %s", c.args, r.status, c.status, r.out, c.out, r.err)
		}
	}
}

// TestDeadLettersAreCountedAndTold: beyond the listed ones too; a letter that stays makes the status, be it
// the first or the last.
func TestDeadLettersAreCountedAndTold(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	dead := func() int { return len(w.records(w.config.Topics.Dead)) }
	process := func(letters int) {
		t.Helper()
		run := start(t, "run", "-c", w.file)
		eventually(t, "the letters", func() bool { return dead() >= letters })
		run.stop(t)
	}
	for range 6 {
		w.produce([]byte("no events"), 0)
	}
	w.must("dead", "skip", "-c", w.file, "--partition", "0", "--offset", "2")
	process(6)
	list := func(args ...string) (letters []string, counted int, note string) {
		t.Helper()
		r := w.must(append([]string{"dead", "list", "-c", w.file, "--format", "json"}, args...)...)
		var x struct {
			Letters []struct{ Letter, State string }
			Counts  []struct{ Letters int }
		}
		if err := json.Unmarshal([]byte(r.out), &x); err != nil {
			t.Fatal(err)
		}
		for _, l := range x.Letters {
			letters = append(letters, l.Letter+" "+l.State)
		}
		for _, c := range x.Counts {
			counted += c.Letters
		}
		return letters, counted, r.err
	}
	for _, c := range []struct {
		args            string
		listed, counted int
		note            string
	}{{"", 6, 6, ""}, {"-n 2", 2, 6, "4 letters more; -n 0 lists all\n"},
		{"-n 5", 5, 6, "1 letters more; -n 0 lists all\n"},
		{"-n 6", 6, 6, ""}, {"-n 0", 6, 6, ""}, {"--counts", 0, 6, ""}, {"--counts -n 1", 0, 6, ""},
		{"--reason skipped", 1, 1, ""}, {"--reason skipped --reason not_arrow", 6, 6, ""}, {"--offsets :2", 3, 3, ""},
		{"--offsets 4:", 2, 2, ""}, {"--offsets 1:3", 3, 3, ""}, {"--offsets :", 6, 6, ""}, {"--offsets 0:0", 1, 1, ""},
		{"--partition 0", 6, 6, ""}, {"--partition 1", 0, 0, ""}, {"--stage labels", 0, 0, ""},
		{"--since 2000-01-01 --until 2000-01-02", 0, 0, ""}, {"--since 2000-01-01T00:00:00Z", 6, 6, ""},
		{"--until 0s", 6, 6, ""}, {"--since 0s", 0, 0, ""}} {
		letters, counted, note := list(strings.Fields(c.args)...)
		if len(letters) != c.listed || counted != c.counted || note != c.note {
			t.Errorf("%s: %d listed, %d counted, %q; want %d, %d, %q", c.args, len(letters), counted, note, c.listed, c.counted,
				c.note)
		}
	}
	letters, _, _ := list("--reason", "skipped")
	skipped, _, _ := strings.Cut(letters[0], " ")
	shown := func(letter string) string { return w.must("dead", "show", "-c", w.file, letter).out }
	if out := shown(skipped); !strings.Contains(out, "no cause was given") {
		t.Errorf("a message that was skipped for no cause is shown as\n%s", out)
	}
	states := func(args ...string) []string {
		t.Helper()
		letters, _, _ := list(args...)
		return letters
	}
	w.must("dead", "replay", "-c", w.file, "0/0")
	if got := states(); got[0] != "0/0 sent" || got[1] != "0/1 waits" || len(states("--waiting")) != 5 ||
		!regexp.MustCompile(`(?m)^state +sent`).MatchString(shown("0/0")) ||
		!regexp.MustCompile(`(?m)^state +waits`).MatchString(shown("0/1")) {
		t.Errorf("letters %q; shown\n%s", got, shown("0/0"))
	}
	process(dead() + 1) // it dies again, before the next one
	w.produce([]byte("no events either"), 0)
	process(dead() + 1)
	waiting := states("--waiting")
	again, last := strings.Fields(waiting[5])[0], strings.Fields(waiting[6])[0]
	r := command(t, "dead", "replay", "-c", w.file, "--max-replays", "1", again, last)
	if r.status != cli.StatusInput || len(states("--waiting")) != 6 {
		t.Errorf("of %s and %s one was sent too often: status %d\n%s%s", again, last, r.status, r.out, r.err)
	}
	if r := w.must("dead", "replay", "-c", w.file, "--max-replays", "2", again); len(states("--waiting")) != 5 {
		t.Errorf("the other one stays:\n%s%s", r.out, r.err)
	}
	for args, says := range map[string]string{"0/9999": "holds the offsets from 0 on and below",
		"1/0": "has 1 partitions, and no partition 1"} {
		r := command(t, "dead", "show", "-c", w.file, args)
		if r.status != cli.StatusInput || !strings.Contains(r.err, says) {
			t.Errorf("%s: status %d, %s", args, r.status, r.err)
		}
	}
}

// TestRunTakesItsFlags: the model that serves from the first record on, and the name of the process.
func TestRunTakesItsFlags(t *testing.T) {
	w := newWorld(t, "local: off\nkernel: off")
	w.must("topics", "create", "-c", w.file)
	file := filepath.Join(t.TempDir(), "votes.model")
	w.must("fit", "-c", w.file, w.data, "--model", file)
	began := time.Now()
	w.must("produce", "-c", w.file, w.data, "--batch", "435")
	run := start(t, "run", "-c", w.file, "--model", file, "--instance", "pod-3")
	w.await(435)
	group, err := w.client.ConsumerGroup(w.config.Name).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", group); !strings.Contains(text, "liftstream-votes-pod-3") {
		t.Errorf("the members are %s", text)
	}
	run.stop(t)
	statuses := map[string]int{}
	for _, r := range w.records(w.config.Topics.Scores) {
		for _, status := range column(t, r.Value, "status") {
			statuses[status]++
		}
	}
	if statuses["untrained"] > 0 || statuses["ok"] < 430 {
		t.Errorf("with a model from the first record on the scores are %v", statuses)
	}
	// The bounds of verify: in time, the first and the last message.
	for args, messages := range map[string]string{"": "1 scores message with 435 records", "--to " +
		began.Add(-time.Hour).UTC().Format(time.RFC3339): "0 scores messages with 0 records", "--from " +
		began.Add(time.Hour).UTC().Format(time.RFC3339): "0 scores messages with 0 records", "--from " +
		began.Add(-time.Hour).UTC().Format(time.RFC3339) + " --to " + began.Add(time.Hour).UTC().Format(time.RFC3339): "1 " +
		"scores message with 435 records"} {
		r := w.must(append([]string{"verify", "-c", w.file}, strings.Fields(args)...)...)
		if !strings.Contains(r.out, messages) {
			t.Errorf("verify %s: %s%s, want %s", args, r.out, r.err, messages)
		}
	}
}

// TestInspectTellsOfEachDamagedModel: an older one too, when the newest can be read.
func TestInspectTellsOfEachDamagedModel(t *testing.T) {
	w := newWorld(t, "local: off\nkernel: off")
	w.must("topics", "create", "-c", w.file)
	file := filepath.Join(t.TempDir(), "votes.model")
	w.must("fit", "-c", w.file, w.data, "--model", file)
	publish := func(version int64) {
		t.Helper()
		m, err := assemble.ReadModel(file, w.stage.Spec.Schema)
		if err != nil {
			t.Fatal(err)
		}
		m.Version = version
		models := state.NewModels(nil, w.config.Topics.Model, w.stage.Spec.Schema)
		records, err := models.Publication(state.NewPacker(), m, nil, time.Now(), state.Format)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.client.Produce(t.Context(), records, txn.None); err != nil {
			t.Fatal(err)
		}
	}
	inspect := func() result { return command(t, "inspect", "-c", w.file, "--topic", "model") }
	publish(1)
	publish(2)
	if r := inspect(); r.status != cli.StatusDone || !strings.Contains(r.out, "the newest of votes-model") {
		t.Errorf("two sound models: status %d\n%s%s", r.status, r.out, r.err)
	}
	for _, damaged := range []int{1, 2} {
		err := w.client.Produce(t.Context(), []txn.Record{{Topic: "votes-model", Key: fmt.Appendf(nil, "model/%d/0", damaged),
			Value: []byte("damaged")}}, txn.None)
		if err != nil {
			t.Fatal(err)
		}
		if r := inspect(); r.status != cli.StatusInput || strings.Count(r.err, "\n") != damaged ||
			strings.Contains(r.out, "the newest of votes-model") != (damaged == 1) {
			t.Errorf("model %d is damaged: status %d\n%s%s", damaged, r.status, r.out, r.err)
		}
	}
}

// TestBrokerIsReachedByItsName, and beyond this machine only on purpose.
func TestBrokerIsReachedByItsName(t *testing.T) {
	for _, c := range []struct{ args, host string }{{"", "127.0.0.1"}, {"--advertise localhost", "localhost"},
		{"--listen 0.0.0.0:0 --insecure --advertise localhost", "localhost"}} {
		args := append([]string{"broker", "--dir", t.TempDir(), "--listen", "127.0.0.1:0"}, strings.Fields(c.args)...)
		b := start(t, args...)
		eventually(t, "the address", func() bool { return strings.HasSuffix(b.out.String(), "\n") })
		at := strings.TrimSpace(b.out.String())
		client := txn.NewClient(txn.Config{Brokers: []string{at}})
		if err := client.Check(t.Context()); err != nil || !strings.HasPrefix(at, c.host+":") {
			t.Errorf("%s: it is at %s, %v", c.args, at, err)
		}
		client.Close()
		if status := b.stop(t); status != cli.StatusDone {
			t.Errorf("%s: status %d\n%s", c.args, status, b.err.String())
		}
	}
}
