package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/stream"
	"liftstream/stream/txn"
)

// configured is a configuration with further sections.
func configured(t *testing.T, extra string) *config.Config {
	t.Helper()
	text := "name: bank\nrecord:\n  label: {column: y, classes: [no, yes]}\n  features:\n" +
		"    - {name: age, kind: continuous}\n    - {name: seen, kind: continuous, use: never}\n" + extra
	c, _, err := config.Parse("bank.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestColumnsOfDerivedFeatures: a topic needs the sources of a derived feature, and no column of its name.
func TestColumnsOfDerivedFeatures(t *testing.T) {
	for _, c := range []struct{ nullable, columns, lacks string }{
		{"values", "age,seen\n1,1\n", ""}, {"values", "age,size\n1,1\n", "seen"}, {"column", "age\n1\n", ""},
	} {
		stage := configured(t, "derive: {size: log(seen)}\n")
		stage.Record.Features[1].Nullable = config.Nullable(c.nullable)
		err := NewSender(nil, Sending{Topic: "t"}).complete(tableOf(t, c.columns), []string{"data.csv"}, stage)
		if (err == nil) != (c.lacks == "") || err != nil && !strings.Contains(err.Error(), `no column "`+c.lacks+`"`) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestSettingsOfTheClient: the brokers, the name, the bound of memory, and the account, whose password a file holds.
func TestSettingsOfTheClient(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const memory = "memory: {batch: 33MiB, message: 16MiB, decoded: 256MiB}\n"
	account := func(password string) string {
		return "kafka: {brokers: [a:1, b:2], sasl: {mechanism: PLAIN, username: u, " + password + "}}\n"
	}
	for _, c := range []struct {
		name, extra, instance, id, account string
	}{
		{"plain", "kafka: {brokers: [a:1, b:2]}\n", "", "liftstream-bank", ""},
		{"an instance", "kafka: {brokers: [a:1, b:2]}\n", "pod-3", "liftstream-bank-pod-3", ""},
		{"a password", account("password: p"), "", "liftstream-bank", "\x00u\x00p"},
		{"a file", account("password_file: " + file), "", "liftstream-bank", "\x00u\x00of the file"},
	} {
		got, err := settings(configured(t, c.extra+memory), c.instance)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if strings.Join(got.Brokers, " ") != "a:1 b:2" || got.ClientID != c.id || got.ExpandBytes != 33<<20 {
			t.Errorf("%s: brokers %q, id %q, %d bytes", c.name, got.Brokers, got.ClientID, got.ExpandBytes)
		}
		if (got.SASL != nil) != (c.account != "") || got.TLS != nil {
			t.Errorf("%s: account %v, TLS %v", c.name, got.SASL, got.TLS)
		} else if got.SASL != nil {
			if _, said, err := got.SASL.Start(context.Background()); err != nil || string(said) != c.account {
				t.Errorf("%s: says %q, %v", c.name, said, err)
			}
		}
	}
	for _, x := range []struct{ extra, want string }{
		{account("password_file: " + file + ".none"), "kafka.sasl: reading the password"},
		{"kafka: {brokers: [a:1], tls: {ca: " + file + "}}\n", "kafka.tls: "},
	} {
		if _, err := settings(configured(t, x.extra), ""); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.extra, err, x.want)
		}
	}
	dir := t.TempDir()
	k, err := Open(configured(t, "kafka: {embedded: {dir: "+dir+"}}\n"), "pod-3")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	other, err := Open(configured(t, "kafka: {embedded: {dir: "+dir+"}}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if !k.Own() || other.Own() || k.Address == "" || other.Address != k.Address || k.Instance != "liftstream-bank-pod-3" ||
		other.Instance != "" {
		t.Errorf("at %q by %q, own %v; at %q by %q, own %v", k.Address, k.Instance, k.Own(), other.Address, other.Instance,
			other.Own())
	}
	if err := other.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestTopicsOfAConfiguration: each name in its place, and messages of scores four times as large as those of events.
func TestTopicsOfAConfiguration(t *testing.T) {
	c := configured(t, "memory: {message: 3MiB}\ntopics: {events: a, scores: b, labels: c, state: d, model: e, dead: f, "+
		"partitions: 5, replication: 2}\n")
	if n := Topics(c); n.Events != "a" || n.Scores != "b" || n.Labels != "c" || n.State != "d" || n.Model != "e" ||
		n.Dead != "f" {
		t.Errorf("topics %+v", n)
	}
	var got []string
	for _, s := range Specs(c) {
		got = append(got, fmt.Sprint(s.Name, " ", s.Partitions, " ", s.Replication))
		n, err := strconv.Atoi(s.Configs["max.message.bytes"])
		if small := err != nil || n < 12<<20; small && slices.Contains([]string{"a", "b", "c", "f"}, s.Name) {
			t.Errorf("%s takes messages of %d bytes, %v", s.Name, n, err)
		}
	}
	slices.Sort(got)
	if want := []string{"a 5 2", "b 5 2", "c 5 2", "d 5 2", "e 1 2", "f 5 2"}; !slices.Equal(got, want) {
		t.Errorf("topics to make %q, want %q", got, want)
	}
	if n := Needs(c); n.Message != 3<<20 || n.Replication != 2 {
		t.Errorf("needs %+v", n)
	}
}

// TestProblemsOfTopics: missing topics, partitions without a leader, and wrong settings, topic by topic.
func TestProblemsOfTopics(t *testing.T) {
	c := configured(t, "topics: {partitions: 2}\n")
	sound := map[string]txn.Topic{}
	for _, s := range Specs(c) {
		sound[s.Name] = txn.Topic{Name: s.Name, Partitions: s.Partitions, Replication: s.Replication,
			Configs: maps.Clone(s.Configs)}
	}
	for _, x := range []struct {
		name   string
		change func(known map[string]txn.Topic)
		want   []string
	}{
		{"sound", func(map[string]txn.Topic) {}, nil},
		{"missing", func(known map[string]txn.Topic) { delete(known, "bank-model"); delete(known, "bank-events") },
			[]string{"bank-events: it does not exist: 'liftstream topics create' makes it", "bank-model: it does not exist"}},
		{"one leader is away", func(known map[string]txn.Topic) {
			s := known["bank-scores"]
			s.Leaderless = []int{1}
			known["bank-scores"] = s
		}, []string{"bank-scores: partitions 1 have no leader"}},
		{"leaders are away", func(known map[string]txn.Topic) {
			s := known["bank-scores"]
			s.Leaderless = []int{0, 1}
			known["bank-scores"] = s
		}, []string{"bank-scores: partitions 0 1 have no leader"}},
		{"a setting", func(known map[string]txn.Topic) { known["bank-state"].Configs["cleanup.policy"] = "delete" },
			[]string{"bank-state: cleanup.policy is delete"}},
	} {
		known := maps.Clone(sound)
		for name, topic := range known {
			topic.Configs = maps.Clone(topic.Configs)
			known[name] = topic
		}
		x.change(known)
		found := problems(known, c)
		ok := len(found) == len(x.want)
		for i := range min(len(found), len(x.want)) {
			ok = ok && strings.HasPrefix(found[i], x.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q", x.name, found, x.want)
		}
	}
}

// TestErrorsOfRequests: each kind has its remedy and its owner, wrapped too.
func TestErrorsOfRequests(t *testing.T) {
	plain := errors.New("x")
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{plain, cli.StatusInput, ""}, {context.Canceled, cli.StatusEnvironment, ""}, {cli.ErrFound, cli.StatusInput, ""},
		{&stream.StopError{Left: []string{"x"}}, cli.StatusEnvironment, ""},
		{kind(txn.Environment), cli.StatusEnvironment, ""}, {kind(txn.Unknown), cli.StatusEnvironment, ""},
		{kind(txn.Fenced), cli.StatusEnvironment, ""}, {kind(txn.StaleGeneration), cli.StatusEnvironment, ""},
		{kind(txn.OutOfRange), cli.StatusEnvironment, ""}, {kind(txn.Credentials), cli.StatusEnvironment, ""},
		{kind(txn.Handshake), cli.StatusEnvironment, ""}, {kind(txn.Poisoned), cli.StatusEnvironment, ""},
		{kind(txn.Invalid), cli.StatusInput, ""},
		{kind(txn.TooLarge), cli.StatusInput, "'liftstream topics describe -c f.yaml' shows the limits"},
		{kind(txn.NoTopic), cli.StatusInput, "'liftstream topics create -c f.yaml' makes the topics"},
		{kind(txn.Denied), cli.StatusInput, "'liftstream topics describe -c f.yaml --acls' lists the rights"},
	} {
		got := Explain(c.err, "f.yaml")
		if cli.Status(got) != c.status || !errors.Is(got, c.err) ||
			strings.TrimPrefix(got.Error(), c.err.Error()+"; ") != got.Error() != (c.says != "") ||
			!strings.Contains(got.Error(), c.says) {
			t.Errorf("%v becomes %v of status %d, want %q and %d", c.err, got, cli.Status(got), c.says, c.status)
		}
		if got := Explain(fmt.Errorf("reading: %w", c.err), "f.yaml"); txn.KindOf(c.err) != 0 && cli.Status(got) != c.status {
			t.Errorf("%v wrapped has status %d, want %d", c.err, cli.Status(got), c.status)
		}
	}
	if Explain(nil, "f.yaml") != nil {
		t.Error("no error becomes one")
	}
	with := configured(t, "kafka: {brokers: [a:1], sasl: {mechanism: PLAIN, username: u, password: p}}\n")
	without := configured(t, "kafka: {brokers: [a:1]}\n")
	for _, c := range []struct {
		err  error
		c    *config.Config
		says string
	}{
		{kind(txn.Environment), with, "start the broker, or correct kafka.brokers"},
		{kind(txn.Handshake), with, "compare kafka.tls"}, {kind(txn.Credentials), with, "check mechanism, username"},
		{kind(txn.Credentials), without, "the listener asks for an account"},
		{kind(txn.Denied), with, "see kafka.brokers"}, {plain, with, "see kafka.brokers"},
	} {
		got := Unreachable(c.err, c.c)
		if cli.Status(got) != cli.StatusEnvironment || !errors.Is(got, c.err) ||
			!strings.Contains(got.Error(), "; "+c.says) {
			t.Errorf("%v becomes %v, want %q", c.err, got, c.says)
		}
	}
}

func kind(k txn.Kind) error {
	return &txn.Error{Op: "Fetch", Kind: k, Reason: "y", Err: errors.New("x")}
}

// TestRightsOfEachCommand: of a bare configuration, and of one with everything.
func TestRightsOfEachCommand(t *testing.T) {
	lines := func(text string) map[string][]string {
		by, section := map[string][]string{}, ""
		for l := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(l), "# "); ok {
				section = name
				continue
			}
			who, what, _ := strings.Cut(strings.TrimSpace(l), " --operation ")
			by[section] = append(by[section], strings.ReplaceAll(what, " --operation ", " "))
			by["who"] = append(by["who"], who)
		}
		return by
	}
	bare, full := lines(Rights(configured(t, ""))), lines(Rights(configured(t, "labels: {}\npolicy: {dead_share: .1}\n"+
		"kafka: {brokers: [a:1], sasl: {mechanism: PLAIN, username: \"o'neil\", password: p}}\n")))
	stage := func(topic string) string { return "Read Write Describe DescribeConfigs --topic bank-" + topic }
	read := []string{"Read Describe DescribeConfigs --topic bank-events"}
	rest := []string{stage("scores"), stage("dead"), stage("state"), stage("model"), "Read Describe --group bank",
		"Write Describe --transactional-id bank- --resource-pattern-type prefixed"}
	dead := []string{"Read Write Describe --topic bank-dead", "Read Describe --group bank-dead-replay",
		"Write Describe --transactional-id bank-dead-replay"}
	resume := []string{"Read Describe --topic bank-state", "Describe --group bank",
		"Read Describe --group bank-dead-resume", "Write Describe --transactional-id bank-dead-resume"}
	made := func(topics ...string) (l []string) {
		for _, x := range topics {
			l = append(l, "Create Describe DescribeConfigs --topic bank-"+x)
		}
		return l
	}
	for _, c := range []struct {
		name       string
		bare, full []string
	}{
		{"run", slices.Concat(read, rest), slices.Concat(read, []string{"Read Describe DescribeConfigs --topic bank-labels"},
			rest, []string{"Describe --group bank-dead-resume"})},
		{"produce", []string{"Write Describe --topic bank-events"}, []string{"Write Describe --topic bank-events"}},
		{"tail", []string{"Read Describe --topic bank-scores", "Read Describe --topic bank-dead"},
			[]string{"Read Describe --topic bank-scores", "Read Describe --topic bank-dead"}},
		{"dead", slices.Concat([]string{"Write Describe --topic bank-events"}, dead),
			slices.Concat([]string{"Write Describe --topic bank-events", "Write Describe --topic bank-labels"}, dead)},
		{"compare, with those of the other stage",
			[]string{"Read Describe --topic bank-events", "Read Describe --topic bank-scores"},
			[]string{"Read Describe --topic bank-events", "Read Describe --topic bank-labels",
				"Read Describe --topic bank-scores"}},
		{"resume", slices.Concat([]string{"Read Describe --topic bank-events"}, resume),
			slices.Concat([]string{"Read Describe --topic bank-events", "Read Describe --topic bank-labels"}, resume)},
		{"topics create, topics describe", made("events", "scores", "state", "model", "dead"),
			made("events", "scores", "state", "model", "dead", "labels")},
	} {
		for how, x := range map[string][2][]string{"bare": {bare[c.name], c.bare}, "full": {full[c.name], c.full}} {
			slices.Sort(x[0])
			slices.Sort(x[1])
			if !slices.Equal(x[0], x[1]) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", c.name, how, strings.Join(x[0], "\n"), strings.Join(x[1], "\n"))
			}
		}
	}
	for who, by := range map[string]map[string][]string{"User:ACCOUNT": bare, `'User:o'\''neil'`: full} {
		for _, got := range by["who"] {
			if got != "--add --allow-principal "+who {
				t.Errorf("%q, want those of %s", got, who)
			}
		}
	}
}
