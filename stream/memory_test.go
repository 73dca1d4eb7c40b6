package stream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"liftstream/stream/embedded"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestMemoryOfAStage runs the stage as a process of its own, with two partitions and default limits, under GOMEMLIMIT,
// and sends it messages made to take memory, to both partitions at once. All of them are answered or become dead
// letters, the usual ones around them are scored, and the process never holds more than 512 MiB.
func TestMemoryOfAStage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it builds the program and sends large messages")
	}
	const most = 512 << 20
	binary := buildBinary(t)
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorldAt(t, txn.Config{Brokers: []string{b.Addr()}}, 2)
	wide := txn.NewClient(txn.Config{Brokers: w.Brokers, BatchBytes: 256 << 20})
	defer wide.Close()
	config := filepath.Join(t.TempDir(), "stage.yaml")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(`name: %s
record:
  id: id
  label: {column: y, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: x, kind: continuous}
    - {name: c, kind: nominal}
topics: {partitions: 2}
labels: {window: 1h}
kafka: {brokers: ["%s"]}
http: {listen: "127.0.0.1:0"}
`, w.Name+"-m", b.Addr())), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "topics", "create", "-c", config).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.Name += "-m"
	for _, topic := range []*string{&w.Topics.Events, &w.Topics.Scores, &w.Topics.Labels, &w.Topics.State, &w.Topics.Model,
		&w.Topics.Dead} {
		*topic = w.Name + (*topic)[strings.LastIndexByte(*topic, '-'):]
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	stage := exec.Command(binary, "run", "-c", config, "--log-format", "json")
	stage.Env = append(os.Environ(), "GOMEMLIMIT=400MiB")
	stage.Stdout, stage.Stderr = log, log
	if err := stage.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stage.Wait() }()
	defer func() { _ = stage.Process.Kill() }()

	send := func(c txn.Compression, values ...[]byte) {
		t.Helper()
		for p := range w.N {
			var out []txn.Record
			for _, v := range values {
				out = append(out, txn.Record{Topic: w.Topics.Events, Partition: p, Value: v, Time: time.Now()})
			}
			if err := wide.Produce(context.Background(), out, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	usual := func() {
		t.Helper()
		for p := range w.N {
			if err := wide.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Partition: p,
				Value: w.Message(p, w.Next[p], 100, true), Time: time.Now()}}, txn.Lz4); err != nil {
				t.Fatal(err)
			}
			w.Next[p] += 100
		}
	}
	noise := make([]byte, 30<<20)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(noise)
	usual()
	for _, c := range []txn.Compression{txn.Gzip, txn.Snappy, txn.Lz4, txn.Zstd} {
		send(c, make([]byte, 128<<20)) // beyond memory.batch
		usual()
		send(c, bytes.Repeat([]byte{7}, 28<<20)) // within it, and no message
		usual()
	}
	for range 4 {
		send(txn.None, noise) // large, and no message
		send(txn.None, noise[:15<<20])
	}
	usual()
	var small [][]byte
	for range 40_000 {
		small = append(small, nil)
	}
	send(txn.Zstd, small...) // a batch whose records take far more than its bytes
	usual()
	rows := 0
	for _, n := range []int{60_000, 100_000} {
		for p := range w.N {
			v := w.Message(p, w.Next[p], n, false)
			if err := wide.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Partition: p, Value: v,
				Time: time.Now()}}, txn.Zstd); err != nil {
				t.Fatal(err)
			}
			w.Next[p] += n
		}
		rows += n
	}
	usual()

	peak := func() (bytes int64) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", stage.Process.Pid))
		if err != nil {
			return 0
		}
		for line := range strings.SplitSeq(string(status), "\n") {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
				bytes, _ = strconv.ParseInt(f[1], 10, 64)
			}
		}
		return bytes << 10
	}
	streamtest.Eventually(t, 4*time.Minute, "the stage does not come to the end", func() bool {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the stage ends: %v\n%s", err, text[max(len(text)-3000, 0):])
		default:
		}
		for p := range w.N {
			_, end := w.Bounds(w.Topics.Events, p)
			if w.Committed(p) < end {
				return false
			}
		}
		return true
	})
	got := peak()
	t.Logf("the process has held %d MiB at most", got>>20)
	if got == 0 || got > most {
		t.Errorf("the process has held %d MiB", got>>20)
	}
	_ = stage.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("the stage ends with %v", err)
	}
	w.ExactlyOnce()
}
