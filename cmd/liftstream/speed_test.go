package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
)

// speedStage is the stage of the configuration that LIFTSTREAM_SPEED_CONFIG names. Benchmarks of deploy/bench/speed.py
// have their configuration and data from the environment; without it they are skipped.
func speedStage(b *testing.B) *assemble.Stage {
	b.Helper()
	name := os.Getenv("LIFTSTREAM_SPEED_CONFIG")
	if name == "" {
		b.Skip("LIFTSTREAM_SPEED_CONFIG names no configuration: deploy/bench/speed.py does")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	cfg, _, err := config.Parse(name, text, os.LookupEnv)
	if err != nil {
		b.Fatal(err)
	}
	stage, err := assemble.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return stage
}

// speedBatches reads the file that LIFTSTREAM_SPEED_DATA names in messages of 1,000 records.
func speedBatches(b *testing.B, stage *assemble.Stage) (all []*model.Batch, records int) {
	b.Helper()
	r, err := file.Open([]string{os.Getenv("LIFTSTREAM_SPEED_DATA")}, file.Options{Codec: stage.Codec, Rows: 1000})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		batch := &model.Batch{}
		if err := r.Next(batch, nil); err == io.EOF {
			return all, records
		} else if err != nil {
			b.Fatal(err)
		}
		batch.Offset = int64(len(all))
		records += batch.N
		all = append(all, batch)
	}
}

// speedSpec is the stage with these components alone, all of them where there are none, and labels at once.
func speedSpec(stage *assemble.Stage, components []string) *model.Spec {
	spec := *stage.Spec
	if components != nil {
		spec = *stage.Scoring(components...)
	}
	spec.Options.WaitBytes = 0
	return &spec
}

// refits is a schedule of fits: models of the cold start at the warm-up and at model.AfterCold each time, then one
// every Fit.Records labelled records. Every model serves; the gate's comparison is left out.
type refits struct {
	spec           *model.Spec
	cold, at, each int64
	serving        *model.Model
	fits           int
}

func newRefits(stage *assemble.Stage, spec *model.Spec) *refits {
	each := int64(stage.Config.Fit.Records)
	return &refits{spec: spec, cold: int64(spec.Options.Warmup), at: each, each: each}
}

func (r *refits) learnt(b *testing.B, n int64, p *model.Partition) {
	fit := model.Fit
	switch {
	case n >= r.at:
		r.at += r.each
		r.cold = math.MaxInt64
	case n >= r.cold:
		fit = model.FitAnew
		r.cold = int64(model.AfterCold(float64(r.cold)))
	default:
		return
	}
	m, err := fit(context.Background(), r.spec, model.Held{p.Index(): p.Snapshot()}, r.serving)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		b.Fatal(err)
	}
	r.serving = m
	r.fits++
	runtime.GC() // the garbage of a fit is its own
}

// speedMethods are the stages whose speed is measured: with these components alone, or with all.
var speedMethods = []struct {
	name       string
	components []string
}{{"lift", []string{lift.Name}}, {"kernel", []string{lift.Name, kernel.Name}}, {"all", nil}}

// BenchmarkSpeedStream is a stream whose records are scored, explained, learnt and fitted again as in a stage, in
// messages of 1,000: the processor time of a record apart from that of the fits, and the log-loss of the records after
// the first 1,000. LIFTSTREAM_SPEED_LOSSES names a file for the losses of all records, one a line.
func BenchmarkSpeedStream(b *testing.B) {
	for _, method := range speedMethods {
		b.Run(method.name, func(b *testing.B) {
			stage := speedStage(b)
			batches, records := speedBatches(b, stage)
			spec := speedSpec(stage, method.components)
			var spent, fits time.Duration
			losses := make([]float64, 0, records)
			number := 0
			for b.Loop() {
				p, out, r := model.NewPartition(spec, 0), model.Scores{}, newRefits(stage, spec)
				losses = losses[:0]
				learnt := int64(0)
				runtime.GC()
				for _, batch := range batches {
					start := modeltest.Processor()
					p.Events(batch, &out)
					end := modeltest.Processor()
					spent += end - start
					for i, y := range batch.Label {
						losses = append(losses, -math.Log(min(max(out.P[i*out.Classes+int(y)], 1e-6), 1-1e-6)))
					}
					learnt += int64(batch.N)
					start = modeltest.Processor()
					r.learnt(b, learnt, p)
					fits += modeltest.Processor() - start
				}
				number += r.fits
			}
			n := float64(records * b.N)
			b.ReportMetric(float64(spent.Nanoseconds())/n, "cpu-ns/record")
			b.ReportMetric(float64(fits.Nanoseconds())/n, "fits-cpu-ns/record")
			b.ReportMetric(float64(number)/float64(b.N), "fits")
			b.ReportMetric(mean(losses[min(1000, len(losses)):]), "log-loss")
			writeLosses(b, losses)
		})
	}
}

// served is a partition that has learnt the batches, under a model that was fitted half way.
func served(b *testing.B, stage *assemble.Stage, spec *model.Spec, batches []*model.Batch) *model.Partition {
	b.Helper()
	p, r := model.NewPartition(spec, 0), newRefits(stage, spec)
	r.cold, r.at = math.MaxInt64, math.MaxInt64
	for i, batch := range batches {
		var out model.Scores
		p.Events(batch, &out)
		if i == len(batches)/2 {
			r.at = 0
			r.learnt(b, 1, p)
		}
	}
	return p
}

// BenchmarkSpeedRecord is a record under a model with all its parts, no fit among the records: scored, explained and
// learnt, and scored and explained alone. The model has learnt these records before.
func BenchmarkSpeedRecord(b *testing.B) {
	for _, method := range speedMethods {
		b.Run(method.name, func(b *testing.B) {
			stage := speedStage(b)
			batches, records := speedBatches(b, stage)
			p := served(b, stage, speedSpec(stage, method.components), batches)
			none := slices.Repeat([]int32{model.Unlabelled}, 1000)
			var out model.Scores
			var clock, learnt, scored time.Duration
			pass := func(labels bool) time.Duration {
				runtime.GC()
				start := modeltest.Processor()
				for _, batch := range batches {
					next := *batch
					next.Offset = p.NextOffset()
					if !labels {
						next.Label = none[:batch.N]
					}
					p.Events(&next, &out)
				}
				return modeltest.Processor() - start
			}
			b.ResetTimer()
			for b.Loop() {
				start := time.Now()
				learnt += pass(true)
				clock += time.Since(start)
				scored += pass(false)
			}
			n := float64(records * b.N)
			b.ReportMetric(float64(learnt.Nanoseconds())/n, "cpu-ns/record")
			b.ReportMetric(float64(clock.Nanoseconds())/n, "wall-ns/record")
			b.ReportMetric(float64(scored.Nanoseconds())/n, "scored-cpu-ns/record")
		})
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func writeLosses(b *testing.B, losses []float64) {
	b.Helper()
	name := os.Getenv("LIFTSTREAM_SPEED_LOSSES")
	if name == "" {
		return
	}
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, l := range losses {
		fmt.Fprintf(w, "%.6g\n", l)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSpeedPartitions is the same records, learnt by one partition and shared out over two that work beside each
// other, in records a second by the clock.
func BenchmarkSpeedPartitions(b *testing.B) {
	for _, partitions := range []int{1, 2} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			stage := speedStage(b)
			batches, records := speedBatches(b, stage)
			spec := speedSpec(stage, nil)
			held := served(b, stage, spec, batches).Snapshot() // a model with all components serves both
			parts := make([]*model.Partition, partitions)
			for p := range parts {
				var err error
				if parts[p], err = model.RestorePartition(spec, held); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			start := modeltest.Processor()
			for b.Loop() {
				var wait sync.WaitGroup
				for p := range parts {
					wait.Go(func() {
						var out model.Scores
						for i := p; i < len(batches); i += partitions {
							batch := *batches[i]
							batch.Offset = parts[p].NextOffset()
							parts[p].Events(&batch, &out)
						}
					})
				}
				wait.Wait()
			}
			b.ReportMetric((modeltest.Processor()-start).Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
