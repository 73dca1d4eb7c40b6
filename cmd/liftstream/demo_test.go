package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/config"
	"liftstream/stream"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

func TestDemoOfTheVotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "the demo's ${HOME} \"data\"") // a name that has to be quoted in the configuration
	args := []string{"demo", "--data", "votes", "--dir", dir, "--listen", "127.0.0.1:0", "--rate", "0", "--once"}
	first := command(t, args...)
	if first.status != cli.StatusDone {
		t.Fatalf("status %d\n%s%s", first.status, first.out, first.err)
	}
	for _, want := range []string{"435 records sent, 435 scored, none twice, none not scored, none rejected",
		"first 100 not counted", "strongest profiles", "first to call", "AUC  "} {
		if !strings.Contains(first.out, want) {
			t.Errorf("the figures lack %q:\n%s", want, first.out)
		}
	}
	// The second run sends nothing and says the same.
	second := command(t, args...)
	if second.status != cli.StatusDone || !strings.Contains(second.err, "going on: 435 records were sent before, 435 "+
		"of them scored") {
		t.Errorf("the second run: status %d\n%s", second.status, second.err)
	}
	if a, b := figures(first.out), figures(second.out); a != b || a == "" {
		t.Errorf("the second run's figures differ:\n%s\n%s", a, b)
	}
	// Its directory serves the other commands.
	file := filepath.Join(dir, "votes.yaml")
	if r := command(t, "tail", "-c", file, "--from", "start", "-n", "435", "--format",
		"jsonl"); r.status != cli.StatusDone || strings.Count(r.out, "\n") != 435 {
		t.Errorf("tail after the demo: status %d, %s", r.status, r.err)
	}
	if r := command(t, "topics", "describe", "-c", file); r.status != cli.StatusDone {
		t.Errorf("topics describe after the demo: status %d, %s%s", r.status, r.out, r.err)
	}
	if r := command(t, "inspect", "-c", file, "--topic", "state"); r.status != cli.StatusDone ||
		!strings.Contains(r.out, "435") || !strings.Contains(r.out, "whole") || !strings.Contains(r.out, "model/lift") {
		t.Errorf("inspect of the state: status %d, %s%s", r.status, r.out, r.err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "SOURCES.md")); err != nil || !bytes.Contains(b, []byte("CC")) &&
		!bytes.Contains(b, []byte("Creative Commons")) {
		t.Errorf("the licence of the data is not beside them: %v", err)
	}
}

var auc = regexp.MustCompile(`(?s)how good.*?\n\n`)

// figures is the part of the output that does not depend on when models were published.
func figures(out string) string {
	head, _, _ := strings.Cut(out, "\n")
	return head + "\n" + auc.FindString(out)
}

func TestDemoServesUntilItIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	d := start(t, "demo", "--data", "votes", "--dir", dir, "--listen", "127.0.0.1:0", "--rate", "0")
	d.says(t, "The page stays at")
	// A second demonstration on the same directory must not touch it.
	if r := command(t, "demo", "--data", "votes", "--dir", dir, "--listen",
		"127.0.0.1:0"); r.status != cli.StatusEnvironment || !strings.Contains(r.err, "another process runs") {
		t.Errorf("a second demonstration: status %d, %s", r.status, r.err)
	}
	if status := d.stop(t); status != cli.StatusDone {
		t.Errorf("status %d\n%s", status, d.err.String())
	}
	if r := command(t, "demo", "--data", "nothing"); r.status != cli.StatusUsage ||
		!strings.Contains(r.err, "bank, votes") {
		t.Errorf("--data nothing: status %d, %s", r.status, r.err)
	}
}

// buildBinary makes the binary for a test that kills it, if LIFTSTREAM_BINARY does not name one.
func buildBinary(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("LIFTSTREAM_BINARY"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "liftstream")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return binary
}

// A demonstration that is killed at any moment, several times, ends as one that was left alone: nothing is sent, scored
// or learnt twice, and nothing is left out.
func TestDemoSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: the demonstration survives kill -9; run without -short")
	}
	binary := buildBinary(t)
	for _, c := range []struct {
		data, rate string
		total      string
		lives      []int // records in the topic at which it is killed
	}{
		{"votes", "600", "435", []int{60, 200, 350}},
		{"bank", "15000", "45,211", []int{5000, 21000, 39000}},
	} {
		t.Run(c.data, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"demo", "--data", c.data, "--dir", dir, "--listen", "127.0.0.1:0", "--rate", c.rate, "--once"}
			for _, at := range c.lives {
				cmd := exec.Command(binary, args...)
				var out locked
				cmd.Stderr, cmd.Stdout = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				eventually(t, "the moment to kill", func() bool {
					select {
					case err := <-ended:
						t.Fatalf("it ended by itself: %v\n%s", err, out.String())
					default:
					}
					return position(dir, c.data) >= at
				})
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-ended
				if strings.Contains(out.String(), "records sent") {
					t.Fatalf("killed too late to prove anything:\n%s", out.String())
				}
			}
			last := exec.Command(binary, args[:len(args)-1]...) // without --once
			var out, errs locked
			last.Stdout, last.Stderr = &out, &errs
			if err := last.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = last.Process.Kill() }()
			eventually(t, "the end of the data", func() bool { // the two outputs come each in their own time
				return strings.Contains(errs.String(), "The page stays at") && strings.Contains(out.String(), "records sent")
			})
			want := c.total + " records sent, " + c.total + " scored, none twice, none not scored, none rejected"
			if !strings.Contains(out.String(), want) {
				t.Errorf("want %q:\n%s", want, out.String())
			}
			if !strings.Contains(errs.String(), "going on: ") {
				t.Errorf("the last life does not go on:\n%s", errs.String())
			}
			// Every record is learnt once.
			r, err := http.Get(regexp.MustCompile(`http://\S+/`).FindString(errs.String()) + "readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			var status stream.Status
			if err := json.NewDecoder(r.Body).Decode(&status); err != nil || len(status.Partitions) != 1 ||
				int(status.Partitions[0].Labelled) != demo.Find(c.data).Records {
				t.Errorf("status %+v, %v", status, err)
			}
			if err := last.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := last.Wait(); err != nil {
				t.Errorf("after an interrupt: %v\n%s", err, errs.String())
			}
			once(t, dir, c.data)
		})
	}
}

// position is how many records of the data a running demonstration has sent.
func position(dir, data string) int {
	at := embedded.SharedAddr(filepath.Join(dir, "broker"))
	if at == "" {
		return 0
	}
	client := txn.NewClient(txn.Config{Brokers: []string{at}, Timeout: time.Second})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ends, err := client.ListOffsets(ctx, data+"-events", []int{0}, txn.End)
	if err != nil {
		return 0
	}
	return int(ends[0]) * demo.Find(data).Batch
}

// once reads the topics that a demonstration has left, and compares the records with the data, one by one.
func once(t *testing.T, dir, data string) {
	t.Helper()
	b, err := embedded.Start(embedded.Options{Dir: filepath.Join(dir, "broker")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	client := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
	defer client.Close()
	w := &world{t: t, client: client}
	set := demo.Find(data)
	for topic, name := range map[string]string{data + "-events": set.Who, data + "-scores": "id"} {
		n := 0
		for _, r := range w.records(topic) {
			for _, id := range column(t, r.Value, name) {
				if n++; id != strconv.Itoa(n) {
					t.Fatalf("%s: record %d is that of %s %s", topic, n, set.Who, id)
				}
			}
		}
		if n != set.Records {
			t.Errorf("%s holds %d records, want %d", topic, n, set.Records)
		}
	}
}

func TestShippedConfigurationsLoad(t *testing.T) {
	for _, name := range demo.Names() {
		set := demo.Find(name)
		text, err := set.Config("/data", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, warnings, err := config.Parse(name+".yaml", text, nil)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, warnings)
		}
		stage, err := assemble.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := set.WriteRecords(&b); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")) - 1; n != set.Records {
			t.Errorf("%s has %d records, want %d", name, n, set.Records)
		}
		header, _, _ := strings.Cut(b.String(), "\n")
		if !strings.HasPrefix(header, set.Who+",") || stage.Codec.ID != set.Who {
			t.Errorf("%s: columns %s, id %s", name, header, stage.Codec.ID)
		}
		if name == "bank" && stage.Spec.Schema.Feature("duration") >= 0 {
			t.Error("the demonstration looks at the length of the call")
		}
		if c.Topics.Partitions != 1 {
			t.Errorf("%s has %d partitions: the position in the data is kept for one", name, c.Topics.Partitions)
		}
	}
}

func TestFeederStopsWithTheStage(t *testing.T) {
	// An address that cannot be listened on ends the demonstration before anything is sent.
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r := command(t, "demo", "--data", "votes", "--dir", dir, "--listen", taken.Addr().String(), "--once")
	if r.status == cli.StatusDone {
		t.Errorf("status %d\n%s", r.status, r.err)
	}
	if _, err := os.Stat(filepath.Join(dir, "votes.yaml")); errors.Is(err, os.ErrNotExist) {
		t.Error("the configuration that is complained of is not there to look at")
	}
}
