package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// rig is one run: a broker, topics, processes of the stage.
type rig struct {
	*world
	t       *testing.T
	binary  string
	dir     string
	seed    uint64
	real    bool
	kafka   string // folder of the real broker
	broker  *exec.Cmd
	cluster *three // in this process, where the fault takes three nodes
	config  string
	through *proxy // nil where there are three nodes: it stands before one
	procs   []*process
	events  []string // for the result
	fed     atomic.Int64
	late    []int // records of each partition whose labels were sent
	models  int   // the run is long enough for so many
}

func newRig(t *testing.T, binary, kind, kafkaDir string, f fault, seed uint64) *rig {
	t.Helper()
	r := &rig{
		t:      t,
		binary: binary,
		dir:    t.TempDir(),
		seed:   seed,
		real:   kind == "real",
		kafka:  kafkaDir,
		late:   make([]int, rigPartitions),
	}
	var addresses []string
	switch {
	case r.real:
		port, nodes := kafkaAt(t, kafkaDir)
		for i := range nodes {
			addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port+10*i))
		}
	case f.nodes == 3:
		r.cluster = startThree(t, seed)
		addresses = r.cluster.ListenAddrs()
	default:
		addresses = []string{r.startBroker("127.0.0.1:0")}
	}
	r.world = newWorldAt(t, txn.Config{Brokers: addresses}, rigPartitions)
	if len(addresses) == 1 {
		r.through = newProxy(t, addresses[0])
		addresses = []string{r.through.addr()}
	}
	r.config = filepath.Join(r.dir, "stage.yaml")
	text := fmt.Sprintf(`name: %s
record:
  id: id
  label: {column: y, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: x, kind: continuous}
    - {name: c, kind: nominal}
lift: {sets: {max: 2, top: 5}}
fit: {every: 1s, records: 200, warmup: 100, budget: 5s, gate: 5}
topics: {partitions: %d}
kafka: {brokers: [%s]}
commit: {interval: 20ms}
snapshot: {interval: 1s, bytes_per_second: 512KiB, share: 1}
memory: {tail: 1MiB}
shutdown: {grace: 15s}
http: {listen: "127.0.0.1:0"}
%s`, r.Name, rigPartitions, strings.Join(addresses, ", "), cmp.Or(f.options, "labels: {max_bytes: 4MiB}\n"))
	if err := os.WriteFile(r.config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// startBroker runs the embedded broker in a process of its own and returns its address.
func (r *rig) startBroker(listen string) string {
	r.t.Helper()
	r.broker = exec.Command(r.binary, "broker", "--quiet", "--dir", filepath.Join(r.dir, "broker"), "--listen", listen)
	out, err := r.broker.StdoutPipe()
	if err == nil {
		err = r.broker.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	own := r.broker
	r.t.Cleanup(func() { _ = own.Process.Kill(); _ = own.Wait() })
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		r.t.Fatalf("the broker does not start: %v", err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// process is one run of the stage's binary.
type process struct {
	cmd   *exec.Cmd
	log   *lockedBuffer
	ended chan struct{}
	err   error
	told  bool // it was told to stop, and its end has been checked
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.b.Bytes()
	return string(b[max(0, len(b)-4000):])
}

func (r *rig) start(instance string) *process {
	r.t.Helper()
	return r.startWith(r.config, instance)
}

func (r *rig) startWith(config, instance string) *process {
	r.t.Helper()
	p := &process{
		cmd:   exec.Command(r.binary, "run", "-c", config, "--instance", instance, "--log-format", "json"),
		log:   &lockedBuffer{},
		ended: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.ended) }()
	r.t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT); p.kill() })
	r.procs = append(r.procs, p)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends a process in peace.
func (r *rig) stop(p *process) time.Duration {
	r.t.Helper()
	began := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(streamtest.Patience):
		r.t.Fatalf("the stage does not stop\n%s", p.log.tail())
	}
	if p.err != nil {
		r.t.Errorf("the stage ends with %v\n%s", p.err, p.log.tail())
	}
	return time.Since(began)
}

// feed sends about n records, spread over the partitions, in messages of rigRows, and late labels for older ones.
func (r *rig) feed(n int) {
	r.t.Helper()
	ctx := context.Background()
	for range max(n/rigPartitions/rigRows, 1) {
		var out []txn.Record
		for p := range r.N {
			from := r.Next[p]
			labelled := model.Hash(r.seed, 3, uint64(p), uint64(from))%4 != 0 // a quarter of the messages gets its labels later
			out = append(
				out,
				txn.Record{
					Topic:     r.Topics.Events,
					Partition: p,
					Key:       []byte(fmt.Sprint("key", p)),
					Value:     r.Message(p, from, rigRows, labelled),
					Time:      time.Now(),
				},
			)
			r.Next[p] += rigRows
			if from >= 10*rigRows {
				out = append(out, r.lateLabels(p, from-10*rigRows)...)
			}
		}
		for {
			err := r.Client.Produce(ctx, out, txn.Lz4)
			if err == nil {
				break
			}
			if k := txn.KindOf(err); k != txn.Environment && k != txn.Unknown {
				r.t.Fatalf("feeding: %v", err)
			}
			time.Sleep(200 * time.Millisecond) // records written then are in the topic, and the topic decides
		}
		r.fed.Add(rigPartitions * rigRows)
	}
}

func (r *rig) lateLabels(p, from int) []txn.Record {
	if model.Hash(r.seed, 3, uint64(p), uint64(from))%4 != 0 {
		return nil
	}
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}},
		nil,
	)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	x := sample.Records(p*1_000_000+from, rigRows)
	for i := range rigRows {
		b.Field(0).(*array.StringBuilder).Append(streamtest.RecordID(p, from+i))
		b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.late[p] += rigRows
	return []txn.Record{{Topic: r.Topics.Labels, Partition: p, Value: v, Time: time.Now()}}
}

// committed returns the records that the group has committed.
func (r *rig) committed() int {
	got, err := r.Client.ConsumerGroup(r.Name).Offsets(context.Background(), r.Topics.Events, upTo(r.N))
	if err != nil {
		return 0
	}
	n := 0
	for _, o := range got {
		n += int(max(o.Offset, 0)) * rigRows
	}
	return n
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// reached waits until so many records are committed while the process lives.
func (r *rig) reached(n int) {
	r.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for r.committed() < n {
		if time.Now().After(deadline) {
			for _, p := range r.procs {
				r.t.Logf("%s", p.log.tail())
			}
			r.t.Fatalf("%d of %d records are committed after two minutes", r.committed(), n)
		}
		for _, p := range r.procs {
			select {
			case <-p.ended:
				if p.err != nil && !p.told && p.cmd.ProcessState.ExitCode() >= 0 { // not killed by the suite
					r.t.Fatalf("the stage has ended: %v\n%s", p.err, p.log.tail())
				}
			default:
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (r *rig) note(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

// until waits for a condition that is welcome, not owed.
func (r *rig) until(longest time.Duration, ok func() bool) {
	for deadline := time.Now().Add(longest); !ok() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
}

// newest is the version of the newest published model.
func (r *rig) newest() int64 {
	l := state.NewModels(r.Client, r.Topics.Model, nil)
	for end := false; !end; {
		var err error
		if end, err = l.Advance(context.Background(), 20*time.Millisecond); err != nil {
			return 0
		}
	}
	v, _ := l.Head()
	return v
}

// snapshotUnderWay reports whether a partition of the state topic ends within a snapshot.
func (r *rig) snapshotUnderWay() bool {
	for p := range r.N {
		l := state.NewLog()
		if l.Follow(context.Background(), r.Client, r.Topics.State, p) != nil {
			return false
		}
		found, _ := l.Manifests()
		if len(l.Orphans(found...)) > 0 {
			return true
		}
	}
	return false
}

// idsOf returns the ids of a partition of the events topic.
func (r *rig) idsOf(topic string, partition int) (ids []string) {
	for _, rec := range r.Records(topic, partition) {
		for tab, err := range codec.Tables(rec.Value, 0) {
			if err != nil {
				r.t.Fatal(err)
			}
			c := tab.Column("id")
			for i := range tab.Rows() {
				id, _ := tab.Text(c, i)
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// check lets a stage catch up, stops it, and reads everything back.
func (r *rig) check(name string, seed uint64, took time.Duration) {
	t := r.t
	t.Helper()
	alive := false
	for _, p := range r.procs {
		select {
		case <-p.ended:
		default:
			alive = true
		}
	}
	if !alive {
		r.start("one")
	}
	r.feed(1200)
	// A run without switches of models would prove less than it says.
	newest := r.newest()
	r.until(3*time.Minute, func() bool {
		if newest = r.newest(); newest < int64(r.models) {
			time.Sleep(200 * time.Millisecond)
			r.feed(120)
		}
		return newest >= int64(r.models)
	})
	if newest < int64(r.models) {
		t.Errorf("%d models were published, want %d", newest, r.models)
	}
	want := 0
	for p := range r.N {
		_, end := r.Bounds(r.Topics.Events, p)
		want += int(end) * rigRows
	}
	r.reached(want)
	for _, p := range r.procs {
		select {
		case <-p.ended:
		default:
			r.stop(p)
		}
	}
	records, lost, doubled := 0, 0, 0
	for p := range r.N {
		in, out := r.idsOf(r.Topics.Events, p), r.IDs(p)
		records += len(in)
		seen := map[string]int{}
		for _, id := range in {
			seen[id]++
		}
		for _, id := range out {
			if seen[id]--; seen[id] < 0 {
				doubled++
			}
		}
		for _, n := range seen {
			lost += max(n, 0)
		}
		for i := range min(len(in), len(out)) {
			if in[i] != out[i] {
				t.Errorf("partition %d: score %d is of %s, the event is %s", p, i, out[i], in[i])
				break
			}
		}
	}
	if lost+doubled > 0 {
		t.Errorf("%d records lost, %d doubled of %d", lost, doubled, records)
		for p := range r.N {
			first, end, _ := r.Client.Bounds(context.Background(), r.Topics.Scores, p)
			high, _ := r.Client.ListOffsets(context.Background(), r.Topics.Scores, []int{p}, txn.HighWatermark)
			t.Logf(
				"partition %d: scores from %d, stable to %d, written to %d, %d visible messages; committed event %d",
				p,
				first,
				end,
				high[p],
				len(r.Records(r.Topics.Scores, p)),
				r.Committed(p),
			)
		}
	}
	out, err := exec.Command(r.binary, "verify", "-c", r.config, "--log-format", "json").CombinedOutput()
	if err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if bytes.Count(out, []byte("replayed from the beginning")) != r.N {
		t.Errorf("verify did not replay everything:\n%s", out)
	}
	if keep := os.Getenv("LIFTSTREAM_FAULTS_KEEP"); keep != "" && t.Failed() {
		to := filepath.Join(keep, r.Name)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Error(err)
		}
		if r.broker != nil {
			_ = r.broker.Process.Kill()
			if err := os.CopyFS(filepath.Join(to, "broker"), os.DirFS(filepath.Join(r.dir, "broker"))); err != nil {
				t.Error(err)
			}
		}
		for i, p := range r.procs {
			if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("stage-%03d.log", i)), p.log.b.Bytes(), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	line := fmt.Sprintf(
		"%s: %d records in %d partitions, %d lost, %d doubled, verify clean %v; %d models published; %s; %v; seed %d",
		name,
		records,
		r.N,
		lost,
		doubled,
		err == nil,
		newest,
		strings.Join(r.events, "; "),
		took.Round(time.Second),
		seed,
	)
	t.Log(line)
	if file := os.Getenv("LIFTSTREAM_FAULTS_RESULT"); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = fmt.Fprintln(f, line)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
}
