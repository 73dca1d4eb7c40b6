package stream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// header returns the last header of that name, "" where there is none.
func header(r *txn.Record, name string) (value string) {
	for _, h := range r.Headers {
		if h.Key == name {
			value = string(h.Value)
		}
	}
	return value
}

// small makes a topic of a stage again that takes messages of so many bytes.
func small(t *testing.T, w *world, topic *string, bytes int) {
	t.Helper()
	*topic += "-small"
	if _, err := w.Client.CreateTopics(context.Background(), txn.TopicSpec{Name: *topic, Partitions: w.N, Replication: 1,
		Configs: map[string]string{"max.message.bytes": strconv.Itoa(bytes)}}); err != nil {
		t.Fatal(err)
	}
}

// agrees replays the topics and fails the test where a score is another.
func agrees(t *testing.T, o Options) {
	t.Helper()
	found, err := verified(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		if len(v.Problems) > 0 || v.Messages == 0 {
			t.Errorf("partition %d: %d messages compared: %v", v.Partition, v.Messages, v.Problems)
		}
	}
}

// TestScoresThatDoNotFitTheirTopicComeInParts: in every format, whether the client knows the limit at first or not; a
// replay gives the same, which does not know the id of the schema.
func TestScoresThatDoNotFitTheirTopicComeInParts(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for _, format := range []codec.Format{codec.FormatArrow, codec.FormatJSONL, codec.FormatJSON, codec.FormatAvro} {
			w := newWorld(t, addr, 1)
			small(t, w, &w.Topics.Scores, 20_000)
			w.Produce(20, 10, true)
			w.Produce(500, 500, true)
			w.Produce(20, 10, true)
			o := w.options(w.Client)
			o.Codec.Format, o.Codec.Frame = format, &codec.Frame{}
			first := ""
			if format.Single() {
				o.Codec.Frame.Set(9)
				first = "1/10"
			}
			r := w.run(o)
			w.caught(r)
			r.end(t)
			rows, parts := 0, map[int64][]string{}
			for _, s := range w.Records(w.Topics.Scores, 0) {
				of, err := scores.EventOf(&s)
				if err != nil {
					t.Fatal(err)
				}
				n, _ := strconv.Atoi(header(&s, scores.HeaderRows))
				rows += n
				parts[of] = append(parts[of], header(&s, scores.HeaderPart))
				if string(s.Key) != "key0" || header(&s, "trace") != "7" {
					t.Errorf("a part has the key %q and the header %q", s.Key, header(&s, "trace"))
				}
				if lines := bytes.Count(s.Value, []byte("\n")); format == codec.FormatJSONL && lines != n {
					t.Errorf("%d lines for %d rows", lines, n)
				}
			}
			large := parts[2]
			if rows != 540 || len(parts) != 5 || len(large) < 2 || large[0] != fmt.Sprintf("1/%d", len(large)) ||
				parts[0][0] != first {
				t.Errorf("%d rows; parts %v", rows, parts)
			}
			if format == codec.FormatArrow {
				w.ExactlyOnce()
			}
			o.Codec.Frame = &codec.Frame{}
			agrees(t, o)
		}
	})
}

// longRow is a message of n records from one on; the id of one row is as long as that.
func longRow(t *testing.T, w *world, from, n, row, bytes int) []byte {
	t.Helper()
	for tab, err := range codec.Tables(w.Message(0, from, n, true), 0) {
		if err != nil {
			t.Fatal(err)
		}
		rec := tab.Record()
		ids := array.NewStringBuilder(memory.DefaultAllocator)
		for i := range n {
			id := streamtest.RecordID(0, from+i)
			if i == row {
				id += strings.Repeat("x", bytes)
			}
			ids.Append(id)
		}
		cols := append([]arrow.Array{}, rec.Columns()...)
		cols[0] = ids.NewArray()
		out, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(array.NewRecord(rec.Schema(), cols, int64(n))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return nil
}

// TestARowWhoseScoreDoesNotFitIsADeadLetter: the others of its message are scored. They say that they are a part of it,
// and of which limit, also where they fit one message: without the limit a replay would score the row.
func TestARowWhoseScoreDoesNotFitIsADeadLetter(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		small(t, w, &w.Topics.Scores, 5_000)
		w.Produce(20, 10, true)
		w.Send(w.Topics.Events, string(w.Message(0, 20, 3, true)))
		w.Next[0] += 3
		lost := []int{1, 0, 2} // of the messages 3, 4 and 5
		for _, row := range lost {
			w.Send(w.Topics.Events, string(longRow(t, w, w.Next[0], 3, row, 3_000)))
			w.Next[0] += 3
		}
		o := w.options(w.Client)
		r := w.run(o)
		w.caught(r)
		w.Produce(10, 10, true)
		w.caught(r)
		r.end(t)
		letters := w.Records(w.Topics.Dead, 0)
		if len(letters) != len(lost) {
			t.Fatalf("%d letters", len(letters))
		}
		for i, row := range lost {
			l := &letters[i]
			if header(l, codec.DeadReason) != string(codec.ReasonTooLarge) || header(l, codec.DeadRow) != strconv.Itoa(row) ||
				header(l, codec.DeadOffset) != strconv.Itoa(3+i) {
				t.Errorf("letter %d: %s of row %s of message %s", i, header(l, codec.DeadReason), header(l, codec.DeadRow),
					header(l, codec.DeadOffset))
			}
		}
		if got := len(w.IDs(0)); got != w.Next[0]-len(lost) {
			t.Errorf("%d scores of %d records", got, w.Next[0])
		}
		one := 0
		for _, s := range w.Records(w.Topics.Scores, 0) {
			of, err := scores.EventOf(&s)
			if err != nil {
				t.Fatal(err)
			}
			part := header(&s, scores.HeaderPart)
			if of < 2 || of > 5 {
				continue // of ten rows
			}
			if lacks := of > 2; lacks != (part != "") || lacks != (scores.LimitOf(&s) > 0) {
				t.Errorf("scores of message %d: part %q, limit %d", of, part, scores.LimitOf(&s))
			}
			if part == "1/1" {
				one++
			}
		}
		if one == 0 {
			t.Error("no message lacks a row and is answered by one: the test says nothing")
		}
		agrees(t, o)
	})
}

// TestADeadLetterThatDoesNotFitIsCut: the topic of dead letters takes less than the messages.
func TestADeadLetterThatDoesNotFitIsCut(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		small(t, w, &w.Topics.Dead, 4_000)
		w.Produce(20, 10, true)
		noise := make([]byte, 100_000)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		w.Send(w.Topics.Events, string(noise), "short")
		if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Key: noise[:9000],
			Value: []byte("x"), Headers: []txn.Header{{Key: "h", Value: noise[:9000]}}}}, txn.None); err != nil {
			t.Fatal(err)
		}
		o := w.options(w.Client)
		r := w.run(o)
		w.caught(r)
		r.end(t)
		letters := w.Records(w.Topics.Dead, 0)
		if len(letters) != 3 {
			t.Fatalf("%d letters", len(letters))
		}
		for i, want := range []struct {
			value, key int
			omitted    bool
		}{{0, 0, true}, {5, 0, false}, {0, 0, true}} {
			l := &letters[i]
			omitted := header(l, codec.DeadOmitted)
			if len(l.Value) != want.value || len(l.Key) != want.key || (omitted != "") != want.omitted ||
				header(l, codec.DeadOffset) != strconv.Itoa(2+i) {
				t.Errorf("letter %d: value of %d bytes, key of %d, %s bytes omitted, offset %s", i, len(l.Value), len(l.Key),
					omitted, header(l, codec.DeadOffset))
			}
		}
	})
}

// TestSmallTopics: all topics of a stage take 128 KiB alone, as 'topics create' makes them for memory.message: 32KiB.
func TestSmallTopics(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Topics = small128(w)
		c := txn.NewClient(txn.Config{Brokers: w.Brokers, BatchBytes: 60_000})
		t.Cleanup(c.Close)
		if _, err := c.CreateTopics(context.Background(), topics.Specs(w.Topics, 1, 1, 4*(32<<10))...); err != nil {
			t.Fatal(err)
		}
		w.Client = c
		for range 5 {
			w.Produce(4000, 100, true)
		}
		client := txn.NewClient(txn.Config{Brokers: w.Brokers}) // it has not heard of the limits
		t.Cleanup(client.Close)
		o := w.options(client)
		o.Codec.MaxMessage = 32 << 10
		o.Snapshot, o.SnapshotRate = 500*time.Millisecond, 64<<20
		r := w.run(o)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		parts, manifests := 0, 0
		for _, x := range w.Records(w.Topics.State, 0) {
			if strings.HasPrefix(string(x.Key), "part/") {
				parts++
			} else if strings.HasPrefix(string(x.Key), "manifest/") && len(x.Value) > 0 {
				manifests++
			}
		}
		if parts == 0 || manifests == 0 {
			t.Errorf("%d parts and %d manifests in the state topic", parts, manifests)
		}
		w.Produce(100, 100, true)
		again := w.run(w.options(client))
		w.caught(again)
		again.end(t)
		w.ExactlyOnce()
	})
}

func small128(w *world) topics.Names {
	n := w.Topics
	for _, name := range []*string{&n.Events, &n.Scores, &n.Labels, &n.State, &n.Model, &n.Dead} {
		*name += "-128"
	}
	return n
}

// TestBombsBecomeDeadLetters: batches of Kafka that decompress to far more than they are, of every codec, on events and
// on labels; the records around them are scored and learnt, a restart and a replay give the same.
func TestBombsBecomeDeadLetters(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		bombs := 0
		for _, topic := range []string{w.Topics.Events, w.Topics.Labels} {
			w.Produce(50, 10, false)
			for _, c := range []txn.Compression{txn.Gzip, txn.Snappy, txn.Lz4, txn.Zstd} {
				// Several records in one batch.
				zeros := txn.Record{Topic: topic, Value: make([]byte, 12<<20), Time: time.UnixMilli(1_700_000_000_000)}
				c2 := txn.NewClient(txn.Config{Brokers: w.Brokers, BatchBytes: 64 << 20})
				if err := c2.Produce(ctx, []txn.Record{zeros, zeros, zeros}, c); err != nil {
					t.Fatal(err)
				}
				c2.Close()
				bombs++
				w.Produce(10, 10, false)
			}
		}
		w.SendLabels(0, 90)
		o := w.options(w.Client)
		r := w.run(o)
		w.caught(r)
		r.await(t, "the labels are not learnt", func(s Status) bool { return s.Partitions[0].Labelled == 90 })
		r.end(t)
		w.ExactlyOnce()
		letters := w.Records(w.Topics.Dead, 0)
		if len(letters) != bombs {
			t.Fatalf("%d letters of %d bombs", len(letters), bombs)
		}
		for i := range letters {
			l := &letters[i]
			first, _ := strconv.Atoi(header(l, codec.DeadOffset))
			last, _ := strconv.Atoi(header(l, codec.DeadLast))
			if header(l, codec.DeadReason) != string(codec.ReasonTooLarge) || last != first+2 || len(l.Value) > 0 ||
				!strings.Contains(header(l, codec.DeadError), "memory.batch") {
				t.Errorf("letter %d: %v", i, l.Headers)
			}
		}
		agrees(t, o)
		for i := range letters {
			if x, ok := deadletter.ReadReport(&letters[i]); !ok || x.Reason != codec.ReasonTooLarge {
				t.Errorf("letter %d is not read as one: %+v", i, x)
			}
		}
		w.Produce(10, 10, false)
		again := w.run(w.options(w.Client))
		w.caught(again)
		again.end(t)
		if n := len(w.Records(w.Topics.Dead, 0)); n != bombs {
			t.Errorf("%d letters after a restart", n)
		}
		w.ExactlyOnce()
	})
}
