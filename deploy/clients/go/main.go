// Command go is an example: it sends the rows of a file of JSON lines as events, waits for their scores, and prints the
// rows of the highest propensity. The stage has input.format json, and output.format json or jsonl.
//
//	go run ./deploy/clients/go --events shop-events --scores shop-scores --id customer --class yes shop.jsonl
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	var o options
	flag.StringVar(&o.broker, "broker", "localhost:9092", "address of a broker")
	flag.StringVar(&o.events, "events", "", "topic of the events")
	flag.StringVar(&o.scores, "scores", "", "topic of the scores")
	flag.StringVar(&o.id, "id", "", "column of the id, as record.id of the stage has it")
	flag.StringVar(&o.class, "class", "", "class by whose propensity the rows are ordered")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct{ broker, events, scores, id, class string }

// score is the part of a score that this program reads.
type score struct {
	ID         string
	Propensity float64
}

func run(ctx context.Context, o options, file string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.broker),
		// Scores lie in transactions: a reader that reads committed sees each of them once.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeTopics(o.scores),
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(time.Now().UnixMilli())),
		// The stage expects a record in the partition that Java's clients choose for its id; that is kgo's default too.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	defer client.Close()
	sent, err := send(ctx, client, o, file)
	if err != nil {
		return err
	}
	best, err := receive(ctx, client, o, sent)
	if err != nil {
		return err
	}
	slices.SortFunc(best, func(a, b score) int { return cmp.Compare(b.Propensity, a.Propensity) })
	fmt.Printf("%d rows sent, %d scored\n", sent, len(best))
	for _, s := range best[:min(5, len(best))] {
		fmt.Printf("%s %.4f\n", s.ID, s.Propensity)
	}
	return nil
}

// send sends each line of a file as an event whose key is its id, and returns their number once the broker has them.
func send(ctx context.Context, client *kgo.Client, o options, file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	failed := make(chan error, 1)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return n, fmt.Errorf("reading line %d: %w", n+1, err)
		}
		var id string
		if err := json.Unmarshal(row[o.id], &id); err != nil {
			return n, fmt.Errorf("reading %s of line %d, which is to be text: %w", o.id, n+1, err)
		}
		record := &kgo.Record{Topic: o.events, Key: []byte(id), Value: bytes.Clone(lines.Bytes())}
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
		n++
	}
	if err := lines.Err(); err != nil {
		return n, fmt.Errorf("reading line %d: %w", n+1, err)
	}
	if err := client.Flush(ctx); err != nil {
		return n, err
	}
	select {
	case err := <-failed:
		return n, fmt.Errorf("sending events: %w", err)
	default:
		return n, nil
	}
}

// receive reads the scores of so many events. Rows that the stage refuses have none: it gives up after a minute without
// a new one.
func receive(ctx context.Context, client *kgo.Client, o options, events int) (all []score, err error) {
	for len(all) < events {
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		fetches := client.PollFetches(wait)
		cancel()
		if err := fetches.Err0(); err != nil {
			return all, fmt.Errorf("reading scores after %d of %d: %w", len(all), events, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			value := r.Value
			if len(value) > 5 && value[0] == 0 { // the frame of a schema registry
				value = value[5:]
			}
			for line := range bytes.Lines(value) {
				var row map[string]json.RawMessage
				var s score
				if e := json.Unmarshal(line, &row); e != nil && err == nil {
					err = fmt.Errorf("reading the score at partition %d, offset %d: %w", r.Partition, r.Offset, e)
				}
				_ = json.Unmarshal(row["id"], &s.ID) // null where the stage knows no id
				_ = json.Unmarshal(row["propensity_"+o.class], &s.Propensity)
				all = append(all, s)
			}
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
