package stream

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"liftstream/stream/embedded"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// benchmarked runs f on the embedded broker and, where LIFTSTREAM_KAFKA names one, on a real one.
func benchmarked(b *testing.B, f func(b *testing.B, addr string)) {
	b.Run("embedded", func(b *testing.B) {
		br, err := embedded.Start(embedded.Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer br.Close()
		f(b, br.Addr())
	})
	if addr := os.Getenv("LIFTSTREAM_KAFKA"); addr != "" {
		b.Run("real", func(b *testing.B) { f(b, addr) })
	}
}

// BenchmarkStage runs 200,000 records through the stage, messages of 1,000 rows, from the start of Run to the last
// commit, with transactions and without: then the same records are sent by an idempotent producer and no offsets are
// committed.
func BenchmarkStage(b *testing.B) {
	const records, rows = 200_000, 1000
	benchmarked(b, func(b *testing.B, addr string) {
		for _, plain := range []bool{false, true} {
			b.Run(map[bool]string{false: "transactions", true: "plain"}[plain], func(b *testing.B) {
				var spent time.Duration
				for b.Loop() {
					w := newWorld(b, addr, 1)
					w.Produce(records, rows, true)
					o := w.options(w.Client)
					o.Commit, o.Snapshot, o.FitRecords = 100*time.Millisecond, time.Minute, 50_000
					began := time.Now()
					r := w.prepared(o)
					if plain {
						r.stage.commit = func(ctx context.Context, _ *txn.Producer, t txn.Transaction) error {
							return w.Client.Produce(ctx, t.Records, t.Compression)
						}
					}
					r.start()
					behind := func(s Status) bool { return len(s.Partitions) == 0 || s.Partitions[0].Offset < records/rows }
					for behind(r.stage.Status()) {
						time.Sleep(time.Millisecond)
					}
					spent += time.Since(began)
					r.stop()
					<-r.ended
				}
				b.ReportMetric(float64(records*b.N)/spent.Seconds(), "records/s")
			})
		}
	})
}

// BenchmarkLatency sends 10,000 records a second in messages of 50 for five seconds and reports how long after its
// event a score can be read, read committed.
func BenchmarkLatency(b *testing.B) {
	const rate, rows, seconds = 10_000, 50, 5
	benchmarked(b, func(b *testing.B, addr string) {
		for b.Loop() {
			w := newWorld(b, addr, 1)
			o := w.options(w.Client)
			o.Commit, o.Snapshot, o.FitRecords = 100*time.Millisecond, time.Minute, 1<<40
			w.Produce(5000, rows, true)
			r := w.run(o)
			w.caught(r)
			values := make([][]byte, rate/rows*seconds)
			for i := range values {
				values[i] = w.Message(0, w.Next[0], rows, true)
				w.Next[0] += rows
			}
			done := make(chan []time.Duration)
			ctx, cancel := context.WithTimeout(context.Background(), seconds*time.Second+10*time.Second)
			go func() {
				var took []time.Duration
				c := txn.NewClient(txn.Config{Brokers: w.Brokers})
				defer c.Close()
				_, at, err := c.Bounds(ctx, w.Topics.Scores, 0)
				for err == nil && len(took) < len(values) {
					var f txn.Fetched
					if f, err = c.Fetch(ctx, w.Topics.Scores, 0, at, 4<<20, 500*time.Millisecond); err == nil {
						for i := range f.Records {
							took = append(took, time.Since(f.Records[i].Time))
						}
						at = f.Next
					}
				}
				done <- took
			}()
			time.Sleep(300 * time.Millisecond)
			began := time.Now()
			for i := 0; i < len(values); {
				var out []txn.Record
				for due := int(time.Since(began) * rate / rows / time.Second); i < min(due, len(values)); i++ {
					out = append(out, txn.Record{Topic: w.Topics.Events, Value: values[i], Time: time.Now()})
				}
				if err := w.Client.Produce(context.Background(), out, txn.Lz4); err != nil {
					b.Fatal(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
			took := <-done
			cancel()
			r.stop()
			<-r.ended
			if len(took) < len(values) {
				b.Fatalf("%d of %d scores arrived", len(took), len(values))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
		}
	})
}

// BenchmarkRestart stops a stage that has learnt 100,000 records in the middle of more (stop-ms) and starts it again
// with records waiting, up to the first committed score (start-ms). Then it kills one, without an instance whose ghost
// could be evicted, and starts another at once: beyond-session-ms is the time from there to the first committed
// score, beyond the session of the ghost.
func BenchmarkRestart(b *testing.B) {
	benchmarked(b, func(b *testing.B, addr string) {
		w := newWorld(b, addr, 1)
		w.Produce(100_000, 1000, true)
		o := w.options(w.Client)
		o.Commit, o.Snapshot, o.FitRecords, o.Grace = 100*time.Millisecond, time.Minute, 1<<40, 20*time.Second
		r := w.run(o)
		w.caught(r)
		first := func(r *running) {
			at := int64(-1)
			for ; ; time.Sleep(time.Millisecond) {
				st := r.stage.Status()
				if len(st.Partitions) == 0 || st.Partitions[0].Phase != Running {
					continue
				}
				if at < 0 {
					at = st.Partitions[0].Offset
				}
				if st.Partitions[0].Offset > at {
					return
				}
			}
		}
		var stop, start, beyond time.Duration
		for b.Loop() {
			w.Produce(50_000, 50, true)
			began := time.Now()
			r.stop()
			if err := <-r.ended; err != nil {
				b.Fatal(err)
			}
			stop = max(stop, time.Since(began))
			began = time.Now()
			r = w.run(o)
			first(r)
			start = max(start, time.Since(began))

			r.stop()
			<-r.ended
			m := &streamtest.Mortal{}
			doomed := o
			doomed.Client = txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second})
			doomed.OnScores, doomed.Grace = slowly, time.Second
			r = w.run(doomed)
			for st := r.stage.Status(); len(st.Partitions) == 0 || st.Partitions[0].Scored == 0; st = r.stage.Status() {
				time.Sleep(time.Millisecond)
			}
			began = time.Now()
			m.Die()
			r.stop()
			next := w.run(o)
			w.Produce(50_000, 50, true)
			first(next)
			beyond = max(beyond, time.Since(began)-o.Session)
			<-r.ended
			doomed.Client.Close()
			r = next
		}
		r.stop()
		<-r.ended
		b.ReportMetric(stop.Seconds()*1e3, "stop-ms")
		b.ReportMetric(start.Seconds()*1e3, "start-ms")
		b.ReportMetric(beyond.Seconds()*1e3, "beyond-session-ms")
	})
}
