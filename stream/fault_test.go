package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// The fault suite runs the built binary, kills it and what it depends on at positions that the seed decides, and then
// reads everything back: the scores must be the inputs exactly once and in order, and 'liftstream verify' must find
// nothing. The short form is part of the ordinary tests. The long one, on both brokers:
//
//	deploy/kafka.sh start DIR
//	LIFTSTREAM_FAULTS=long LIFTSTREAM_KAFKA_DIR=DIR go test ./stream -run TestFaults -count 1 -v -timeout 3h
//
// Where DIR was made with KAFKA_NODES=3 the faults that take the proxy, which stands before one broker, are left out,
// and that of moving leaders is run.
//
// LIFTSTREAM_FAULTS_KEEP=DIR keeps the topics of a failed run on the embedded broker and the logs of its stages in DIR.
// LIFTSTREAM_FAULTS_SEED=N repeats a run; LIFTSTREAM_FAULTS_RESULT=FILE writes the lines of its result to FILE.
func TestFaults(t *testing.T) {
	long := os.Getenv("LIFTSTREAM_FAULTS") == "long"
	if testing.Short() {
		t.Skip("THE FAULT SUITE IS NOT RUN with -short")
	}
	binary := buildBinary(t)
	seed := uint64(1)
	if long {
		seed = uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("LIFTSTREAM_FAULTS_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("LIFTSTREAM_FAULTS_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("seed %d", seed)
	for _, kind := range []string{"embedded", "real"} {
		t.Run(kind, func(t *testing.T) {
			dir := os.Getenv("LIFTSTREAM_KAFKA_DIR")
			if kind == "real" && dir == "" {
				t.Skip(
					"FAULTS ARE NOT RUN ON A REAL KAFKA: set LIFTSTREAM_KAFKA_DIR to the folder that deploy/kafka.sh started one in",
				)
			}
			there := 0 // an embedded one has as many as it takes
			if kind == "real" {
				_, there = kafkaAt(t, dir)
			}
			for _, f := range faults(long) {
				if there != 0 && f.nodes != 0 && f.nodes != there {
					t.Logf(
						"NOT RUN ON THIS KAFKA: %q takes one of %d nodes, and %s has %d (KAFKA_NODES when it is made)",
						f.name,
						f.nodes,
						dir,
						there,
					)
					continue
				}
				t.Run(f.name, func(t *testing.T) {
					r := newRig(t, binary, kind, dir, f.nodes, model.Hash(seed, uint64(len(f.name))))
					if r.models = 1; long {
						r.models = 20
					}
					began := time.Now()
					f.run(r)
					r.judge(kind+" "+f.name, seed, time.Since(began))
				})
			}
		})
	}
}

type fault struct {
	name  string
	nodes int // that the broker must have; 0 = any number
	run   func(r *rig)
}

// kafkaAt tells the port and the number of nodes of the Kafka that kafka.sh has in a folder.
func kafkaAt(t *testing.T, dir string) (port, nodes int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "settings"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string, missing int) int {
		_, rest, ok := strings.Cut(string(text), " "+name+"=")
		if !ok {
			return missing
		}
		digits, _, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("%s of the Kafka in %s: %v", name, dir, err)
		}
		return n
	}
	return number("port", 0), number("nodes", 1)
}

// faults lists the runs: few disturbances each in the short form.
func faults(long bool) []fault {
	n := func(short, full int) int {
		if long {
			return full
		}
		return short
	}
	fs := []fault{
		{"stage killed", 0, func(r *rig) { r.killStage(n(4, 100), 2000) }},
		{"connections cut, delayed, black-holed", 1, func(r *rig) { r.breakNetwork(n(6, 60)) }},
		{"produce held back", 1, func(r *rig) { r.holdBack(kmsg.Produce, n(3, 200)) }},
		{"end of transaction held back", 1, func(r *rig) { r.holdBack(kmsg.EndTxn, n(3, 200)) }},
		{"broker killed", 0, func(r *rig) { r.killBroker(n(1, 10)) }},
		{"stage told to stop", 1, func(r *rig) { r.terminate(n(3, 30)) }},
		{"leaders move", 3, func(r *rig) { r.moveLeaders(n(2, 10)) }},
	}
	if long {
		fs = append(fs,
			fault{"members come and go", 0, func(r *rig) { r.rebalance(2 * time.Minute) }},
			fault{"member stalled", 0, func(r *rig) { r.stall(3) }},
			fault{"all of it", 1, func(r *rig) { r.all(60) }})
	}
	return fs
}

func buildBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "liftstream")
	if out, err := exec.Command("go", "build", "-o", path, "liftstream/cmd/liftstream").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	return path
}

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
	events  []string // what was done, for the result
	fed     atomic.Int64
	late    []int // records of each partition whose labels were sent
	models  int   // the run is long enough for so many
}

const (
	rigPartitions = 6
	rigRows       = 20
)

func newRig(t *testing.T, binary, kind, kafkaDir string, nodes int, seed uint64) *rig {
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
	case nodes == 3:
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
labels: {max_bytes: 4MiB}
shutdown: {grace: 15s}
http: {listen: "127.0.0.1:0"}
`, r.name, rigPartitions, strings.Join(addresses, ", "))
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
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{}
	err  error
	told bool // it was told to stop, and has been judged by how it did
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
		cmd:  exec.Command(r.binary, "run", "-c", config, "--instance", instance, "--log-format", "json"),
		log:  &lockedBuffer{},
		done: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	r.t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT); p.kill() })
	r.procs = append(r.procs, p)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop ends a process in peace.
func (r *rig) stop(p *process) time.Duration {
	r.t.Helper()
	began := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
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
		for p := range r.n {
			from := r.next[p]
			labelled := model.Hash(r.seed, 3, uint64(p), uint64(from))%4 != 0 // a quarter of the messages gets its labels later
			out = append(
				out,
				txn.Record{
					Topic:     r.topics.Events,
					Partition: p,
					Key:       []byte(fmt.Sprint("key", p)),
					Value:     r.message(p, from, rigRows, labelled),
					Time:      time.Now(),
				},
			)
			r.next[p] += rigRows
			if from >= 10*rigRows {
				out = append(out, r.lateLabels(p, from-10*rigRows)...)
			}
		}
		for {
			err := r.client.Produce(ctx, out, txn.Lz4)
			if err == nil {
				break
			}
			if k := txn.KindOf(err); k != txn.Environment && k != txn.Unknown {
				r.t.Fatalf("feeding: %v", err)
			}
			time.Sleep(200 * time.Millisecond) // what was written then is in the topic, and the topic is what is judged by
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
		b.Field(0).(*array.StringBuilder).Append(recordID(p, from+i))
		b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.late[p] += rigRows
	return []txn.Record{{Topic: r.topics.Labels, Partition: p, Value: v, Time: time.Now()}}
}

// committed returns the records that the group has committed.
func (r *rig) committed() int {
	got, err := r.client.CommittedOffsets(context.Background(), r.name, r.topics.Events, upTo(r.n))
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
			case <-p.done:
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

// killStage kills the stage again and again while records and labels arrive.
func (r *rig) killStage(kills, records int) {
	inSnapshot := 0
	for i := range uint64(kills) {
		p := r.start("one")
		fed := make(chan struct{})
		base := int(r.fed.Load())
		go func() { defer close(fed); r.feed(records) }()
		at := base + int(model.Hash(r.seed, 1, i)%uint64(records*9/10))
		r.reached(at - at%rigRows)
		// A third dies within a few hundred milliseconds, a third while a snapshot is written, the rest after a fit.
		switch i % 3 {
		case 1:
			r.until(5*time.Second, r.snapshotUnderWay)
		case 2:
			<-fed // records of one partition come from one feeder at a time
			before := r.newest()
			r.until(15*time.Second, func() bool { r.feed(120); return r.newest() > before })
		}
		time.Sleep(time.Duration(model.Hash(r.seed, 2, i) % uint64(400*time.Millisecond)))
		p.kill()
		<-fed
		if r.snapshotUnderWay() {
			inSnapshot++
		}
	}
	r.note("%d times kill -9, %d of them while a snapshot was written", kills, inSnapshot)
}

// until waits for a condition that is welcome, not owed.
func (r *rig) until(longest time.Duration, ok func() bool) {
	for deadline := time.Now().Add(longest); !ok() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
}

// newest is the version of the newest published model.
func (r *rig) newest() int64 {
	l := state.NewModels(r.client, r.topics.Model, nil)
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
	for p := range r.n {
		l := state.NewLog()
		if l.Follow(context.Background(), r.client, r.topics.State, p) != nil {
			return false
		}
		found, _ := l.Manifests()
		if len(l.Orphans(found...)) > 0 {
			return true
		}
	}
	return false
}

// breakNetwork disturbs the connections between a stage and its broker.
func (r *rig) breakNetwork(times int) {
	r.start("one")
	r.feed(600)
	r.reached(200)
	for i := range uint64(times) {
		fed := make(chan struct{})
		go func() { defer close(fed); r.feed(1200) }()
		at := int(r.fed.Load()) + int(model.Hash(r.seed, 4, i)%600)
		r.reached(min(at, int(r.fed.Load())) / 2)
		switch i % 3 {
		case 0:
			r.through.cut()
		case 1:
			r.through.delay.Store(int64(20 * time.Millisecond))
			time.Sleep(300 * time.Millisecond)
			r.through.delay.Store(0)
		case 2:
			r.through.holed.Store(true)
			time.Sleep(time.Duration(500+model.Hash(r.seed, 5, i)%1500) * time.Millisecond)
			if i%2 == 0 { // else what was swallowed comes late, all at once
				r.through.cut()
			}
			r.through.holed.Store(false)
		}
		<-fed
	}
	r.note("%d times connections cut, delayed by 20 ms a frame, or black-holed for up to 2 s", times)
}

// holdBack delivers requests of a kind inside the transaction after the one to which they belonged.
func (r *rig) holdBack(key kmsg.Key, times int) {
	r.start("one")
	r.feed(600)
	r.reached(600)
	deadline := time.Now().Add(time.Duration(times)*3*time.Second + time.Minute)
	for r.through.delivered() < times {
		r.through.holdBack(key)
		before := r.through.delivered()
		for r.through.delivered() == before {
			r.feed(120)
			if time.Now().After(deadline) {
				r.t.Fatalf(
					"%d of %d held requests were delivered\n%s",
					r.through.delivered(),
					times,
					r.procs[len(r.procs)-1].log.tail(),
				)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	r.through.holdBack(-1)
	r.note("%d times a %s request was delivered inside the next transaction", r.through.delivered(), key.Name())
}

// killBroker kills the broker again and again.
func (r *rig) killBroker(times int) {
	r.start("one")
	for i := range uint64(times) {
		base := int(r.fed.Load())
		r.feed(1200)
		r.reached(base + int(model.Hash(r.seed, 6, i)%900))
		r.restartBroker()
		r.feed(600)
		r.reached(base + 1200)
	}
	r.note("%d times kill -9 of the broker", times)
}

// restartBroker kills the broker and starts it again on the same data.
func (r *rig) restartBroker() {
	r.t.Helper()
	if r.real {
		for _, c := range []string{"kill", "start"} {
			// Its output must not be a pipe: the broker that it starts would keep it open.
			if err := exec.Command("../deploy/kafka.sh", c, r.kafka).Run(); err != nil {
				r.t.Fatalf("kafka.sh %s: %v", c, err)
			}
		}
		return
	}
	_ = r.broker.Process.Kill()
	_ = r.broker.Wait()
	time.Sleep(300 * time.Millisecond)
	r.startBroker(r.brokers[0])
}

// terminate ends the stage by SIGTERM in the middle of its work, every third time with a broker that no longer answers:
// then it must be gone within its grace period and say what was not flushed.
func (r *rig) terminate(times int) {
	const grace = 4 * time.Second
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	short := filepath.Join(r.dir, "short.yaml")
	if err := os.WriteFile(short, bytes.Replace(text, []byte("grace: 15s"), []byte("grace: "+grace.String()), 1), 0o644); err != nil {
		r.t.Fatal(err)
	}
	var drained, cut time.Duration
	for i := range uint64(times) {
		p := r.startWith(short, "one")
		base := int(r.fed.Load())
		fed := make(chan struct{})
		go func() { defer close(fed); r.feed(6000) }()
		r.reached(base + int(model.Hash(r.seed, 8, i)%4000))
		if i%3 != 2 {
			drained = max(drained, r.stop(p))
			<-fed
			continue
		}
		r.through.holed.Store(true)
		time.Sleep(time.Duration(model.Hash(r.seed, 9, i) % uint64(200*time.Millisecond)))
		began := time.Now()
		p.told = true
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(30 * time.Second):
			r.t.Fatalf("the stage does not stop\n%s", p.log.tail())
		}
		took := time.Since(began)
		if cut = max(cut, took); took > grace+time.Second { // no measure of speed: the promise is the grace period
			r.t.Errorf("without a broker it took %v to stop, the grace period is %v", took, grace)
		}
		if said := p.log.tail(); p.cmd.ProcessState.ExitCode() != 3 ||
			!strings.Contains(said, "was not flushed beyond offset") &&
				!strings.Contains(said, "was not written to a last snapshot") {
			r.t.Errorf("without a broker it ends with %v and says\n%s", p.err, p.log.tail())
		}
		r.through.cut()
		r.through.holed.Store(false)
		<-fed
	}
	r.note(
		"%d times SIGTERM in the middle of the work, gone after at most %v, %d of them without an answering broker, gone after at most %v of %v grace",
		times,
		drained.Round(10*time.Millisecond),
		times/3,
		cut.Round(10*time.Millisecond),
		grace,
	)
}

// rebalance lets members come and go every two seconds.
func (r *rig) rebalance(how time.Duration) {
	r.start("one")
	began, changes := time.Now(), 0
	var others []*process
	for i := uint64(0); time.Since(began) < how; i++ {
		fed := make(chan struct{})
		go func() { defer close(fed); r.feed(1200) }()
		// 1 -> 2 -> 3 -> 4 -> 1 members, some of them killed.
		if len(others) == 3 {
			for k, p := range others {
				if model.Hash(r.seed, 7, i, uint64(k))%3 == 0 {
					p.kill()
				} else {
					r.stop(p)
				}
				changes++
			}
			others = nil
		} else {
			others = append(others, r.start(fmt.Sprint("member", len(others))))
			changes++
		}
		time.Sleep(2 * time.Second)
		<-fed
	}
	for _, p := range others {
		r.stop(p)
	}
	r.note("%d changes of members in %v", changes, how)
}

// shared waits until so many members share the partitions.
func (r *rig) shared(members int) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		g, err := r.client.DescribeGroup(context.Background(), r.name)
		own := 0
		for _, m := range g.Members {
			if len(m.Partitions[r.topics.Events]) > 0 {
				own++
			}
		}
		if err == nil && g.State == "Stable" && own == members && len(g.Members) == members {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d members do not come to share the partitions: %v, %+v", members, err, g)
		}
	}
}

// stall stops a member for longer than its session, lets another take over, and wakes it up again.
func (r *rig) stall(times int) {
	r.start("one")
	two := r.start("two")
	r.feed(1200)
	r.reached(1200)
	for range times {
		r.shared(2)
		fed := make(chan struct{})
		go func() { defer close(fed); r.feed(2400) }()
		time.Sleep(100 * time.Millisecond)
		_ = two.cmd.Process.Signal(syscall.SIGSTOP)
		r.shared(1)
		<-fed
		r.reached(int(r.fed.Load()))
		r.feed(600)
		_ = two.cmd.Process.Signal(syscall.SIGCONT)
		r.feed(600)
		r.reached(int(r.fed.Load()))
	}
	r.note("%d times a member was stopped for longer than its session and woken up", times)
}

// all lets one fault follow another, of every kind, upon two members, sooner than the one before is over.
func (r *rig) all(times int) {
	names := []string{"one", "two"}
	members := make([]*process, len(names))
	// A stage that has ended is started again, as by a supervisor: one may end when it is started or stopped in the middle
	// of the fault before.
	revive := func() {
		for k, p := range members {
			select {
			case <-p.done:
				if code := p.cmd.ProcessState.ExitCode(); code > 0 && code != 3 {
					r.t.Fatalf("the stage has ended: %v\n%s", p.err, p.log.tail())
				}
				members[k] = r.start(names[k])
				members[k].told = true
			default:
			}
		}
	}
	for k := range members {
		members[k] = r.start(names[k])
		members[k].told = true
	}
	r.feed(1200)
	r.reached(1200)
	done := map[string]int{}
	for i := range uint64(times) {
		fed := make(chan struct{})
		base := int(r.fed.Load())
		go func() { defer close(fed); r.feed(1200) }()
		k := model.Hash(r.seed, 10, i) % 2
		at := func(salt uint64, below time.Duration) time.Duration {
			return time.Duration(model.Hash(r.seed, 11, salt, i) % uint64(below))
		}
		time.Sleep(at(1, 500*time.Millisecond))
		faults := []string{"kill", "SIGTERM", "SIGSTOP", "cut", "black hole", "held Produce", "held EndTxn", "broker"}
		name := faults[model.Hash(r.seed, 12, i)%uint64(len(faults))]
		done[name]++
		revive()
		switch p := members[k]; name {
		case "kill":
			p.kill()
		case "SIGTERM":
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.done:
			case <-time.After(30 * time.Second):
				r.t.Fatalf("the stage does not stop\n%s", p.log.tail())
			}
		case "SIGSTOP":
			_ = p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(8*time.Second + at(2, 8*time.Second)) // its session is 10 s
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
		case "cut":
			r.through.cut()
		case "black hole":
			r.through.holed.Store(true)
			time.Sleep(at(3, 2*time.Second))
			if i%2 == 0 {
				r.through.cut()
			}
			r.through.holed.Store(false)
		case "held Produce":
			r.through.holdBack(kmsg.Produce)
		case "held EndTxn":
			r.through.holdBack(kmsg.EndTxn)
		case "broker":
			r.restartBroker()
		}
		revive()
		<-fed
		if i%4 == 3 {
			r.reached(base)
		}
	}
	r.through.holdBack(-1)
	revive()
	r.reached(int(r.fed.Load()))
	var what []string
	for _, name := range slices.Sorted(maps.Keys(done)) {
		what = append(what, fmt.Sprintf("%d %s", done[name], name))
	}
	r.note("%d faults upon two members: %s", times, strings.Join(what, ", "))
}

// judge lets a stage catch up, stops it, and reads everything back.
func (r *rig) judge(name string, seed uint64, took time.Duration) {
	t := r.t
	t.Helper()
	alive := false
	for _, p := range r.procs {
		select {
		case <-p.done:
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
	for p := range r.n {
		_, end := r.bounds(r.topics.Events, p)
		want += int(end) * rigRows
	}
	r.reached(want)
	for _, p := range r.procs {
		select {
		case <-p.done:
		default:
			r.stop(p)
		}
	}
	records, lost, doubled := 0, 0, 0
	for p := range r.n {
		in, out := r.idsOf(r.topics.Events, p), r.ids(p)
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
		for p := range r.n {
			first, end, _ := r.client.Bounds(context.Background(), r.topics.Scores, p)
			high, _ := r.client.ListOffsets(context.Background(), r.topics.Scores, []int{p}, txn.HighWatermark)
			done, _ := r.client.CommittedOffset(context.Background(), r.name, r.topics.Events, p)
			t.Logf(
				"partition %d: scores from %d, stable to %d, written to %d, %d visible messages; committed event %d",
				p,
				first,
				end,
				high[p],
				len(r.records(r.topics.Scores, p)),
				done,
			)
		}
	}
	out, err := exec.Command(r.binary, "verify", "-c", r.config, "--log-format", "json").CombinedOutput()
	if err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if bytes.Count(out, []byte("replayed from the beginning")) != r.n {
		t.Errorf("verify did not replay everything:\n%s", out)
	}
	if keep := os.Getenv("LIFTSTREAM_FAULTS_KEEP"); keep != "" && t.Failed() {
		to := filepath.Join(keep, r.name)
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
		r.n,
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

// idsOf returns the ids of a partition of the events topic.
func (r *rig) idsOf(topic string, partition int) (ids []string) {
	for _, rec := range r.records(topic, partition) {
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
