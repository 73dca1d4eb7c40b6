package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/stream/txn"
)

const (
	// sendBytes is how much is sent at a time when nothing paces the records.
	sendBytes = 4 << 20
	// maxTable bounds the rows that are looked at together to be split by partition.
	maxTable = 1 << 16
)

type producing struct {
	config, topic string
	key           string
	rate          float64
	batch, repeat int
}

func produceCommand(a *app) *cobra.Command {
	var p producing
	c := a.command(groupLive, "produce -c FILE DATA... [--rate R] [--batch N] [--repeat K] [--key COL] [--topic events|labels]", `Send data files as events, or as late labels
Sends the records of data files to the events topic, as Arrow messages of --batch records with the headers rows and
crc32c, each exactly once as long as the command runs.

Where the configuration has record.id, or --key names a column, a record goes to the partition that Java's clients
choose for that text (murmur2), so that all records of one id stay in order. A message holds records of one partition;
it carries that text as its key when all its records share it, else no key. Without id and key the messages go to the
partitions in turn. A record whose id is missing goes where the empty text goes.

--topic labels sends outcomes that became known later: rows of the label column and either the id, or
source_partition, source_offset and source_row as copied from the scores. They go to the partition of their record.`,
		`liftstream produce -c cmd/liftstream/examples/live.yaml cmd/liftstream/examples/bank.csv`,
		needs(1, -1, "data files"), func(ctx context.Context, data []string) error { return p.run(ctx, a, data) })
	configFlag(c, &p.config)
	c.Flags().Float64Var(&p.rate, "rate", 0, "send `R` records a second; 0 = as fast as it goes")
	c.Flags().IntVar(&p.batch, "batch", 1000, "put at most `N` records into a message; --rate makes it fewer, so that ten messages a second go out")
	c.Flags().IntVar(&p.repeat, "repeat", 1, "send the files `K` times")
	c.Flags().StringVar(&p.topic, "topic", "events", "send to `TOPIC`: events or labels")
	c.Flags().StringVar(&p.key, "key", "", "split and key by column `COL` in place of record.id")
	return c
}

func (p *producing) run(ctx context.Context, a *app, data []string) error {
	switch {
	case !(p.rate >= 0):
		return usagef("--rate %v: it is a number of records a second, 0 for as fast as it goes", p.rate)
	case p.batch < 1:
		return usagef("--batch %d: a message holds at least one record", p.batch)
	case p.repeat < 1:
		return usagef("--repeat %d: it is at least 1", p.repeat)
	case p.topic != "events" && p.topic != "labels":
		return usagef("--topic %s: it is events or labels", p.topic)
	case p.topic == "labels" && p.key != "":
		return usagef("--key is for events: labels go where their records are")
	}
	c, err := a.load(p.config)
	if err != nil {
		return err
	}
	stage, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", p.config, err)
	}
	topic := c.Topics.Events
	if p.topic == "labels" {
		if topic = c.Topics.Labels; topic == "" {
			return fmt.Errorf("%s: the configuration has no labels topic; topics.labels or the section labels adds one", p.config)
		}
	}
	size, err := file.Size(data)
	if err != nil {
		return err
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	if k.broker != nil { // nobody else can have made them
		if _, err := k.CreateTopics(ctx, specsOf(c)...); err != nil {
			return explain(err, p.config)
		}
	}
	partitions, err := k.Partitions(ctx, topic)
	if err != nil {
		return explain(fmt.Errorf("looking at topic %s: %w", topic, err), p.config)
	}
	batch := p.batch
	if p.rate > 0 {
		batch = min(batch, max(1, int(p.rate/10)))
	}
	var bar, sent *progress
	if p.rate > 0 {
		sent = a.progressRecords("sending")
		defer sent.done()
	} else {
		bar = a.progressBytes("sending", size*int64(p.repeat))
		defer bar.done()
	}
	s := &sender{client: k.Client, topic: topic, labels: p.topic == "labels", partitions: partitions, key: c.Record.ID, batch: batch, rate: p.rate,
		encoder: codec.NewEventEncoder(), now: time.Now, progress: sent}
	if p.key != "" {
		s.key = p.key
	}
	began := time.Now()
	for range p.repeat {
		err := s.files(ctx, data, file.TableOptions{Codec: stage.Codec, Rows: min(batch*partitions, maxTable), Progress: bar.add}, c)
		if err != nil {
			bar.done()
			sent.done()
			if s.sent > 0 {
				a.notef("%s in %s were sent to %s before that", count(s.sent, "record"), count(s.messages, "message"), s.topic)
			}
			return explain(err, p.config)
		}
	}
	bar.done()
	sent.done()
	a.notef("sent %s in %s to %s (%s)", count(s.sent, "record"), count(s.messages, "message"), s.topic, rate(s.sent, time.Since(began)))
	return nil
}

// sender turns tables into messages of one partition each and sends them at a given pace.
type sender struct {
	client     *txn.Client
	topic      string
	labels     bool // rows name their records
	partitions int
	key        string // column that splits; "" = in turn
	batch      int
	rate       float64
	encoder    *codec.EventEncoder
	now        func() time.Time
	progress   *progress  // of the records sent; may be nil
	mark       txn.Header // one more header of the next messages; none without a key

	began    time.Time
	sent     int // records
	messages int
	turn     int
	queue    []txn.Record
	queued   int // records in the queue
	bytes    int
	rows     [][]int // by partition
}

func (s *sender) files(ctx context.Context, data []string, o file.TableOptions, c *config.Config) error {
	r, err := file.OpenTables(data, o)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.flush(ctx)
		}
		if err != nil {
			return errors.Join(err, s.flush(ctx))
		}
		if err := s.complete(t, data, c); err != nil {
			return err
		}
		if err := s.table(ctx, t); err != nil {
			return err
		}
	}
}

// complete reports a column of the configuration that the data do not have: every row of theirs would be rejected.
func (s *sender) complete(t *codec.Table, data []string, c *config.Config) error {
	needed := []string{c.Record.ID, c.Record.Time, c.Record.Weight}
	for _, f := range c.Record.Features {
		if f.Use != config.UseNever {
			needed = append(needed, f.Name)
		}
	}
	if s.labels {
		needed = []string{c.Record.Label.Column, c.Record.ID}
		if c.Record.ID == "" || t.Column(c.Record.ID) < 0 {
			needed = []string{c.Record.Label.Column, codec.ColumnPartition, codec.ColumnOffset, codec.ColumnRow}
		}
	}
	for _, name := range needed {
		if name != "" && t.Column(name) < 0 {
			return fmt.Errorf("%s: there is no column %q, which the topic %s needs", joined(data), name, s.topic)
		}
	}
	return nil
}

// home returns what tells the partition of a row, nil when rows go in turn, and the column of their key, -1 for none.
func (s *sender) home(t *codec.Table) (partition func(row int) (int, error), key int, err error) {
	if s.key != "" {
		if key = t.Column(s.key); key >= 0 {
			return func(row int) (int, error) {
				text, _ := t.Text(key, row)
				return txn.Partition([]byte(text), s.partitions), nil
			}, key, nil
		}
		if !s.labels {
			return nil, -1, usagef("--key %s: the data have no such column", s.key)
		}
	}
	if !s.labels {
		return nil, -1, nil
	}
	source := t.Column(codec.ColumnPartition)
	return func(row int) (int, error) {
		p, ok := t.Int(source, row)
		if !ok || p < 0 || p >= int64(s.partitions) {
			text, _ := t.Text(source, row)
			return 0, fmt.Errorf("%s is %q: the topic has the partitions 0 to %d", codec.ColumnPartition, text, s.partitions-1)
		}
		return int(p), nil
	}, -1, nil
}

func (s *sender) table(ctx context.Context, t *codec.Table) error {
	home, key, err := s.home(t)
	if err != nil {
		return err
	}
	if s.rows == nil {
		s.rows = make([][]int, s.partitions)
	}
	for p := range s.rows {
		s.rows[p] = s.rows[p][:0]
	}
	for i := range t.Rows() {
		p := 0
		if home != nil {
			if p, err = home(i); err != nil {
				return err
			}
		}
		s.rows[p] = append(s.rows[p], i)
	}
	for p, rows := range s.rows {
		for len(rows) > 0 {
			n := min(s.batch, len(rows))
			if home == nil {
				p = s.turn % s.partitions
				s.turn++
			}
			if err := s.message(ctx, t, key, p, rows[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

func (s *sender) message(ctx context.Context, t *codec.Table, column, partition int, rows []int) error {
	value, err := s.encoder.Encode(nil, t, rows)
	if err != nil {
		return fmt.Errorf("encoding events: %w", err)
	}
	headers := eventHeaders(value, len(rows))
	if s.mark.Key != "" {
		headers = append(headers, s.mark)
	}
	s.queue = append(s.queue, txn.Record{Topic: s.topic, Partition: partition, Key: shared(t, column, rows), Value: value, Headers: headers})
	s.queued += len(rows)
	s.bytes += len(value)
	if s.rate > 0 || s.bytes >= sendBytes {
		return s.flush(ctx)
	}
	return nil
}

// shared is the text of the column when all rows have the same one, else nil.
func shared(t *codec.Table, column int, rows []int) []byte {
	if column < 0 {
		return nil
	}
	first, ok := t.Text(column, rows[0])
	if !ok {
		return nil
	}
	for _, i := range rows[1:] {
		if text, ok := t.Text(column, i); !ok || text != first {
			return nil
		}
	}
	return []byte(first)
}

// eventHeaders are the headers by which a reader finds a damaged message.
func eventHeaders(value []byte, rows int) []txn.Header {
	h := codec.EventHeaders(value, rows)
	return []txn.Header{{Key: codec.HeaderRows, Value: h.Rows}, {Key: codec.HeaderCRC32C, Value: h.CRC32C}}
}

// flush waits until the queue is due and sends it.
func (s *sender) flush(ctx context.Context) error {
	if len(s.queue) == 0 {
		return nil
	}
	now := s.now()
	if s.began.IsZero() {
		s.began = now
	}
	if s.rate > 0 {
		due := s.began.Add(time.Duration(float64(s.sent) / s.rate * float64(time.Second)))
		if err := pause(ctx, due.Sub(now)); err != nil {
			return err
		}
		now = s.now()
	}
	for i := range s.queue {
		s.queue[i].Time = now
	}
	if err := s.client.Produce(ctx, s.queue, txn.Lz4); err != nil {
		return fmt.Errorf("sending events: %w", err)
	}
	s.sent += s.queued
	s.progress.add(int64(s.queued))
	s.messages += len(s.queue)
	s.queue, s.queued, s.bytes = s.queue[:0], 0, 0
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
