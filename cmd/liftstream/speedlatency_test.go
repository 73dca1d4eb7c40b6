package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"liftstream/stream/txn"
)

// BenchmarkSpeedLatency sends messages to a stage that runs, at a steady rate, and follows its scores as a client does.
// The messages are those of the topic LIFTSTREAM_SPEED_SOURCE, again and again, LIFTSTREAM_SPEED_RATE records a second
// for LIFTSTREAM_SPEED_SECONDS. The time of a message is the one at which it was due, so that a message which is sent
// late counts its delay. It tells the times from there to the committed scores: those within which half and 99 % have
// come, the longest, and the longest time between two answers; and how late the latest message was sent.
func BenchmarkSpeedLatency(b *testing.B) {
	stage := speedStage(b)
	source := os.Getenv("LIFTSTREAM_SPEED_SOURCE")
	if source == "" {
		b.Skip("LIFTSTREAM_SPEED_SOURCE is not set: deploy/bench/speed.py sets it")
	}
	of := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < 1 {
			b.Fatalf("%s: a number from 1 on, not %q", name, os.Getenv(name))
		}
		return n
	}
	rate, seconds, rows := of("LIFTSTREAM_SPEED_RATE"), of("LIFTSTREAM_SPEED_SECONDS"), of("LIFTSTREAM_SPEED_ROWS")
	// A stage that ends, or gives a message up, leaves scores out.
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second+2*time.Minute)
	defer stop()
	topics := stage.Config.Topics
	client := txn.NewClient(txn.Config{Brokers: stage.Config.Kafka.Brokers})
	defer client.Close()
	messages := speedMessages(ctx, b, client, source)
	_, at, err := client.Bounds(ctx, topics.Scores, 0)
	if err != nil {
		b.Fatal(err)
	}
	every := time.Duration(float64(rows) / float64(rate) * float64(time.Second))
	count := int(time.Duration(seconds) * time.Second / every)
	waits, gap := make([]time.Duration, 0, count), time.Duration(0)
	done := make(chan error, 1)
	b.ResetTimer()
	began := time.Now()
	go func() {
		last, failures := began, 0
		for len(waits) < count {
			f, err := client.Fetch(ctx, topics.Scores, 0, at, 4<<20, time.Second)
			if failures++; err != nil && failures > 10 {
				done <- err
				return
			} else if err != nil {
				continue // it has no effect, and its time counts
			}
			failures = 0
			at = f.Next
			now := time.Now()
			if len(f.Records) > 0 {
				gap, last = max(gap, now.Sub(last)), now
			}
			for i := range f.Records {
				waits = append(waits, now.Sub(f.Records[i].Time))
			}
		}
		done <- nil
	}()
	late := time.Duration(0)
	for sent := 0; sent < count; {
		time.Sleep(time.Until(began.Add(time.Duration(sent) * every)))
		var out []txn.Record
		for ; sent < count && len(out) < 100; sent++ {
			due := began.Add(time.Duration(sent) * every)
			if time.Until(due) > 0 {
				break
			}
			late = max(late, time.Since(due))
			r := messages[sent%len(messages)]
			out = append(out, txn.Record{Topic: topics.Events, Key: r.Key, Value: r.Value, Headers: r.Headers, Time: due})
		}
		if err := client.Produce(ctx, out, txn.Lz4); err != nil {
			b.Fatalf("sending %d messages: %v", len(out), err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2].Seconds(), "half-s")
	b.ReportMetric(waits[len(waits)*99/100].Seconds(), "p99-s")
	b.ReportMetric(waits[len(waits)-1].Seconds(), "longest-s")
	b.ReportMetric(gap.Seconds(), "gap-s")
	b.ReportMetric(late.Seconds(), "late-s")
}

// speedMessages reads a topic of one partition, at most 5,000 messages.
func speedMessages(ctx context.Context, b *testing.B, client *txn.Client, topic string) (all []txn.Record) {
	b.Helper()
	from, to, err := client.Bounds(ctx, topic, 0)
	if err == nil {
		_, err = client.Read(ctx, topic, 0, from, min(to, from+5000), func(r *txn.Record) { all = append(all, *r) })
	}
	if err != nil || len(all) == 0 {
		b.Fatalf("reading %s: %d messages, %v", topic, len(all), err)
	}
	return all
}
