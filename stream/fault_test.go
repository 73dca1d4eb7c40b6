package stream

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/model"
	"liftstream/stream/streamtest"
)

// The fault suite runs the built binary, kills it and its brokers at positions that the seed decides, and then
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
					r := newRig(t, binary, kind, dir, f, model.Hash(seed, uint64(len(f.name))))
					if r.models = 1; long {
						r.models = 20
					}
					began := time.Now()
					f.run(r)
					r.check(kind+" "+f.name, seed, time.Since(began))
				})
			}
		})
	}
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

// buildBinary makes the binary of a test, if LIFTSTREAM_BINARY does not name one.
func buildBinary(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("LIFTSTREAM_BINARY"); binary != "" {
		return binary
	}
	path := filepath.Join(t.TempDir(), "liftstream")
	if out, err := exec.Command("go", "build", "-o", path, "liftstream/cmd/liftstream").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	return path
}

const (
	rigPartitions = 6
	rigRows       = 20
)

// killStage kills the stage again and again while records and labels arrive.
func killStage(r *rig, kills, records int) {
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

// breakNetwork disturbs the connections between a stage and its broker.
func breakNetwork(r *rig, times int) {
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
			if i%2 == 0 { // else the swallowed bytes come late, all at once
				r.through.cut()
			}
			r.through.holed.Store(false)
		}
		<-fed
	}
	r.note("%d times connections cut, delayed by 20 ms a frame, or black-holed for up to 2 s", times)
}

// holdBack delivers requests of a kind inside the transaction after the one to which they belonged.
func holdBack(r *rig, key kmsg.Key, times int) {
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
func killBroker(r *rig, times int) {
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
	r.startBroker(r.Brokers[0])
}

// terminate ends the stage by SIGTERM in the middle of its work, every third time with a broker that no longer answers:
// then it must be gone within its grace period and name the work that was not flushed.
func terminate(r *rig, times int) {
	const grace = 4 * time.Second
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	short := filepath.Join(r.dir, "short.yaml")
	if err := os.WriteFile(short, bytes.Replace(text, []byte("grace: 15s"), []byte("grace: "+grace.String()), 1),
		0o644); err != nil {
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
		case <-p.ended:
		case <-time.After(streamtest.Patience):
			r.t.Fatalf("the stage does not stop\n%s", p.log.tail())
		}
		took := time.Since(began)
		if cut = max(cut, took); took > grace+10*time.Second { // no measure of speed: the promise is the grace period
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
		"%d times SIGTERM in the middle of the work, gone after at most %v, %d of them without an answering broker, "+
			"gone after at most %v of %v grace",
		times,
		drained.Round(10*time.Millisecond),
		times/3,
		cut.Round(10*time.Millisecond),
		grace,
	)
}

// rebalance lets members come and go every two seconds.
func rebalance(r *rig, how time.Duration) {
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
		g, err := r.Client.ConsumerGroup(r.Name).Describe(context.Background())
		own := 0
		for _, m := range g.Members {
			if len(m.Partitions[r.Topics.Events]) > 0 {
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
func stall(r *rig, times int) {
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
			case <-p.ended:
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
			case <-p.ended:
			case <-time.After(streamtest.Patience):
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
