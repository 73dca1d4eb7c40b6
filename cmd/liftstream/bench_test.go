package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
)

// BenchmarkEvalBank is eval of all 45,211 bank records with every method.
func BenchmarkEvalBank(b *testing.B) {
	data := modeltest.Shared(b, "data/bank_full.csv.gz")
	for b.Loop() {
		var out, errs bytes.Buffer
		if status := execute(context.Background(), []string{"eval", "-c", "examples/bank.yaml", data}, strings.NewReader(""),
			&out, &errs); status != 0 {
			b.Fatal(errs.String())
		}
	}
}

// bankBatches reads the demo's bank records in batches of 1,000 under the demo's configuration.
func bankBatches(b *testing.B) (*assemble.Stage, []*model.Batch) {
	b.Helper()
	set := demo.Find("bank")
	text, err := set.Config("nowhere", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	cfg, _, err := config.Parse("bank.yaml", text, os.LookupEnv)
	if err != nil {
		b.Fatal(err)
	}
	stage, err := assemble.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "bank.csv")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(set.WriteRecords(f), f.Close()); err != nil {
		b.Fatal(err)
	}
	r, err := file.Open([]string{path}, file.Options{Codec: stage.Codec, Rows: 1000})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var all []*model.Batch
	for {
		batch := &model.Batch{}
		if err := r.Next(batch, nil); err == io.EOF {
			return stage, all
		} else if err != nil {
			b.Fatal(err)
		}
		all = append(all, batch)
	}
}

// BenchmarkBankRecord is one bank record scored, explained, ranked and learnt by everything that a partition holds, one
// iteration a record, over the 45,211 records again and again.
func BenchmarkBankRecord(b *testing.B) {
	stage, batches := bankBatches(b)
	spec := *stage.Spec
	spec.Options.WaitBytes = 0
	p := model.NewPartition(&spec, 0)
	var out model.Scores
	for _, batch := range batches { // structure, tail and level tables are there
		p.Events(batch, &out)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i, n := 0, 0; n < b.N; i++ {
		batch := batches[i%len(batches)]
		p.Events(batch, &out)
		n += batch.N
	}
}

// BenchmarkBankKernel is BenchmarkBankRecord with the lift alone and with the kernel beside it: the cost of the kernel.
func BenchmarkBankKernel(b *testing.B) {
	stage, batches := bankBatches(b)
	for name, components := range map[string][]string{"without": {lift.Name}, "with": {lift.Name, kernel.Name}} {
		b.Run(name, func(b *testing.B) {
			spec := *stage.Scoring(components...)
			spec.Options.WaitBytes = 0
			p := model.NewPartition(&spec, 0)
			var out model.Scores
			for _, batch := range batches {
				p.Events(batch, &out)
			}
			b.ReportAllocs()
			b.ResetTimer()
			start := modeltest.Processor()
			for i, n := 0, 0; n < b.N; i++ {
				batch := batches[i%len(batches)]
				p.Events(batch, &out)
				n += batch.N
			}
			b.ReportMetric(float64((modeltest.Processor()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkBankDemo is the whole demo with --rate 0: broker on disk, producer, stage, page, and the final reading back.
func BenchmarkBankDemo(b *testing.B) {
	for b.Loop() {
		var out, errs bytes.Buffer
		if status := execute(context.Background(), []string{"demo", "--once", "--rate", "0", "--dir", b.TempDir(), "--listen",
			"127.0.0.1:0"}, strings.NewReader(""), &out, &errs); status != 0 {
			b.Fatal(errs.String())
		}
	}
	b.ReportMetric(45_211*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
