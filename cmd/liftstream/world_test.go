package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/codec"
	"liftstream/config"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// world is a broker, a configuration for it, and the votes as a data file.
type world struct {
	t       *testing.T
	address string
	client  *txn.Client
	file    string // configuration
	config  *config.Config
	stage   *assemble.Stage
	data    string

	next []int64 // of scored
	rows int
}

// newWorld starts an embedded broker. extra is added to the configuration of the votes.
func newWorld(t *testing.T, extra string) *world {
	t.Helper()
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return newWorldAt(t, b.Addr(), "votes", extra)
}

// worlds runs f with an embedded broker and, where there is one, with a real one.
func worlds(t *testing.T, extra string, f func(t *testing.T, w *world)) {
	t.Run("embedded", func(t *testing.T) { f(t, newWorld(t, extra)) })
	t.Run("kafka", func(t *testing.T) {
		address := os.Getenv("LIFTSTREAM_KAFKA")
		if address == "" {
			t.Skip("NOT PROVED ON A REAL BROKER: set LIFTSTREAM_KAFKA to its address, as by: " +
				"eval \"$(deploy/kafka.sh env DIR)\"")
		}
		address, _, _ = strings.Cut(address, ",")
		f(t, newWorldAt(t, address, fmt.Sprintf("votes-%d", time.Now().UnixNano()), extra))
	})
}

func newWorldAt(t *testing.T, address, name, extra string) *world {
	t.Helper()
	w := &world{t: t, address: address, client: txn.NewClient(txn.Config{Brokers: []string{address}})}
	t.Cleanup(w.client.Close)
	dir := t.TempDir()
	w.file, w.data = filepath.Join(dir, "votes.yaml"), filepath.Join(dir, "votes.csv")
	text, err := os.ReadFile("internal/demo/votes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// with these a model is published on a slow machine too
	text = bytes.Replace(text, []byte("budget: 5s}"), []byte("budget: 60s, gate: 1}"), 1)
	text = bytes.Replace(text, []byte("name: votes\n"), []byte("name: "+name+"\n"), 1)
	text = append(text, "shutdown: {grace: 3m}\n"...) // likewise a stage stops on one
	text = fmt.Appendf(text, "kafka: {brokers: [%q]}\nhttp: {listen: \"127.0.0.1:0\"}\n%s\n", w.address, extra)
	if err := os.WriteFile(w.file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if w.config, _, err = config.Load(w.file, nil); err != nil {
		t.Fatal(err)
	}
	if w.stage, err = assemble.New(w.config); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(w.data)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := demo.Find("votes").WriteRecords(f); err != nil {
		t.Fatal(err)
	}
	return w
}

// must runs a command line that has to end well.
func (w *world) must(args ...string) result {
	w.t.Helper()
	r := command(w.t, args...)
	if r.status != cli.StatusDone {
		w.t.Fatalf("%q: status %d\n%s%s", args, r.status, r.out, r.err)
	}
	return r
}

// ledger reads the topics back.
func (w *world) ledger() *demo.Ledger {
	w.t.Helper()
	t := &w.config.Topics
	l, err := demo.Read(context.Background(), w.client, demo.Topics{Events: t.Events, Scores: t.Scores, Dead: t.Dead},
		w.stage.Codec, demo.Watch{})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) records(topic string) []txn.Record {
	w.t.Helper()
	var all []txn.Record
	k := &cluster.Cluster{Client: w.client}
	err := k.Follow(context.Background(), cluster.Following{Topic: topic, From: txn.Start},
		func(r []txn.Record) (bool, error) {
			all = append(all, r...)
			return true, nil
		})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) produce(value []byte, partition int, headers ...txn.Header) {
	w.t.Helper()
	err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.config.Topics.Events, Partition: partition,
		Value: value, Headers: headers, Time: time.Now()}}, txn.None)
	if err != nil {
		w.t.Fatal(err)
	}
}

// scored is the number of rows that the scores topic holds, as its messages say; each is read once.
func (w *world) scored() int {
	w.t.Helper()
	topic, ctx := w.config.Topics.Scores, context.Background()
	n, err := w.client.Partitions(ctx, topic)
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := w.client.ListOffsets(ctx, topic, cluster.UpTo(n), txn.End)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.next == nil {
		w.next = make([]int64, n)
	}
	for p := range n {
		for w.next[p] < ends[p] {
			got, err := w.client.Fetch(ctx, topic, p, w.next[p], 1<<20, 10*time.Millisecond)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range got.Records {
				for _, h := range r.Headers {
					if h.Key == "liftstream-rows" {
						rows, _ := strconv.Atoi(string(h.Value))
						w.rows += rows
					}
				}
			}
			w.next[p] = got.Next
		}
	}
	return w.rows
}

// await waits until the scores topic holds n rows.
func (w *world) await(n int) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("score %d", n), func() bool { return w.scored() == n })
}

// other writes the votes with another header or other values.
func (w *world) other(change func(record []string, line int)) string {
	w.t.Helper()
	b, err := os.ReadFile(w.data)
	if err != nil {
		w.t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	name := filepath.Join(w.t.TempDir(), "other.csv")
	f, err := os.Create(name)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	out := csv.NewWriter(f)
	for i, r := range records {
		change(r, i)
		if err := out.Write(r); err != nil {
			w.t.Fatal(err)
		}
	}
	out.Flush()
	return name
}

// column returns the texts of a column over a message.
func column(t *testing.T, value []byte, name string) (texts []string) {
	t.Helper()
	for table, err := range codec.Tables(value, 0) {
		if err != nil {
			t.Fatal(err)
		}
		c := table.Column(name)
		if c < 0 {
			t.Fatalf("there is no column %s", name)
		}
		for i := range table.Rows() {
			text, _ := table.Text(c, i)
			texts = append(texts, text)
		}
	}
	return texts
}

func head(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// returning is a world with the votes in its events, whose broker can end and begin again on its data.
func returning(t *testing.T) (w *world, end, again func()) {
	t.Helper()
	dir := t.TempDir()
	b, err := embedded.Start(embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	w = newWorldAt(t, b.Addr(), "votes", "")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "50")
	return w, func() { b.Close() }, func() {
		t.Helper()
		if b, err = embedded.Start(embedded.Options{Dir: dir, Listen: w.address}); err != nil {
			t.Fatal(err)
		}
	}
}
