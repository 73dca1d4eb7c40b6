package main

import (
	"context"
	"os"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/stream/txn"
)

// BenchmarkSpeedNull is a stage without a model over the events topic of the configuration. By the code of the stage,
// outside of transactions, it fetches, decodes, encodes and produces; scores and reasons were made before.
// LIFTSTREAM_SPEED_BROKERS names the broker, LIFTSTREAM_SPEED_DATA the records that the scores come from, and
// LIFTSTREAM_SPEED_OUT the topic of the answers, which it makes.
func BenchmarkSpeedNull(b *testing.B) {
	stage := speedStage(b)
	brokers, answers := os.Getenv("LIFTSTREAM_SPEED_BROKERS"), os.Getenv("LIFTSTREAM_SPEED_OUT")
	if brokers == "" || answers == "" {
		b.Skip("LIFTSTREAM_SPEED_BROKERS and LIFTSTREAM_SPEED_OUT are not set: deploy/bench/speed.py sets them")
	}
	ctx := context.Background()
	client := txn.NewClient(txn.Config{Brokers: []string{brokers}})
	defer client.Close()
	if _, err := client.CreateTopics(ctx, txn.TopicSpec{Name: answers, Partitions: 1, Replication: 1}); err != nil {
		b.Fatal(err)
	}
	batches, _ := speedBatches(b, stage)
	p, made := model.NewPartition(speedSpec(stage, nil), 0), model.Scores{}
	for _, batch := range batches[:min(3, len(batches))] {
		p.Events(batch, &made) // those of the last one are trained
	}
	decoder, err := codec.NewDecoder(stage.Codec)
	if err != nil {
		b.Fatal(err)
	}
	encoder, err := codec.NewScoreEncoder(stage.Codec)
	if err != nil {
		b.Fatal(err)
	}
	events := stage.Config.Topics.Events
	at, end, err := client.Bounds(ctx, events, 0)
	if err != nil {
		b.Fatal(err)
	}
	scores := map[int]*model.Scores{made.N: &made} // by the number of records
	of := func(n int) *model.Scores {
		if scores[n] == nil {
			s := &model.Scores{}
			s.Reset(0, made.Classes)
			for i := range n {
				s.Append(&made, i%made.N)
			}
			s.N, s.Model, s.Terms = n, made.Model, made.Terms
			scores[n] = s
		}
		return scores[n]
	}
	fetched := make(chan txn.Fetched, 2) // as the stage, it fetches while it works
	b.ResetTimer()
	began, clock := modeltest.Processor(), time.Now()
	go func() {
		defer close(fetched)
		for at < end {
			f, err := client.Fetch(ctx, events, 0, at, 4<<20, time.Second)
			if err != nil {
				b.Error(err)
				return
			}
			at = f.Next
			fetched <- f
		}
	}()
	var batch model.Batch
	var carry codec.Carry
	defer carry.Release()
	records := 0
	for f := range fetched {
		out := make([]txn.Record, 0, len(f.Records))
		for i := range f.Records {
			r := &f.Records[i]
			if _, err := decoder.Decode(&codec.Message{Value: r.Value, Offset: r.Offset, Time: r.Time.UnixNano()}, &batch,
				&carry); err != nil {
				b.Fatal(err)
			}
			value, err := encoder.Encode(nil, &batch, of(batch.N), p.Levels(), &carry)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, txn.Record{Topic: answers, Value: value, Time: r.Time})
			records += batch.N
		}
		if err := client.Produce(ctx, out, txn.Lz4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((modeltest.Processor() - began).Seconds(), "cpu-s")
	b.ReportMetric(time.Since(clock).Seconds(), "wall-s")
	b.ReportMetric(float64(records), "records")
}
