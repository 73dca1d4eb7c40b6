package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model/report/text"
	"liftstream/stream/txn"
)

const (
	// sendBytes is the number of bytes that are sent at a time when nothing paces the records.
	sendBytes = 4 << 20
	// MaxRows bounds the rows that are looked at together to be split by partition.
	MaxRows = 1 << 16
)

// Sending says how a Sender sends.
type Sending struct {
	Topic      string
	Labels     bool // rows name their records
	Partitions int
	Key        string              // column that splits the rows between the partitions; "" = in turn
	Batch      int                 // most records of a message
	Rate       float64             // records a second; 0 = as fast as it goes
	Encoding   Encoding            // of the messages; the zero value is Arrow
	Progress   func(records int64) // called with the number of records of each sending; may be nil
}

// Sender turns tables into messages of one partition each and sends them at a given pace.
type Sender struct {
	Sending
	// Mark is one more header of the next messages; none without a key.
	Mark txn.Header
	// Records and Messages are the numbers of sent records and messages.
	Records, Messages int

	client *txn.Client
	began  time.Time
	turn   int
	queue  []txn.Record
	queued int // records in the queue
	bytes  int
	rows   [][]int // by partition
}

// NewSender returns a Sender to the brokers of a client.
func NewSender(c *txn.Client, o Sending) *Sender {
	if o.Encoding.Append == nil {
		o.Encoding = arrowEncoding()
	}
	if o.Encoding.Single {
		o.Batch = 1
	}
	return &Sender{Sending: o, client: c}
}

// Files sends the records of data files; o.Rows bounds the rows that are looked at together. A record of the file that
// cannot be read ends it, after the records before it are sent.
func (s *Sender) Files(ctx context.Context, data []string, o file.TableOptions, c *config.Config) error {
	r, err := file.OpenTables(data, o)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.Flush(ctx)
		}
		if err != nil {
			return errors.Join(err, s.Flush(ctx))
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
func (s *Sender) complete(t *codec.Table, data []string, c *config.Config) error {
	needed := []string{c.Record.ID, c.Record.Time.Column, c.Record.Weight}
	sources := c.Sources()
	for _, f := range c.Record.Features {
		_, derived := c.Derive[f.Name]
		read := !derived && (f.Use != config.UseNever || slices.Contains(sources, f.Name))
		if read && f.Nullable != config.NullableColumn {
			needed = append(needed, f.Name)
		}
	}
	if s.Labels {
		label := c.Record.Label.Column
		for i := range c.Record.Goals { // one of the labels is enough
			if goal := c.Record.Goals[i].Column; t.Column(label) < 0 && t.Column(goal) >= 0 {
				label = goal
			}
		}
		needed = []string{label, c.Record.ID}
		if c.Record.ID == "" || t.Column(c.Record.ID) < 0 {
			needed = []string{label, codec.ColumnPartition, codec.ColumnOffset, codec.ColumnRow}
		}
	}
	for _, name := range needed {
		if name != "" && t.Column(name) < 0 {
			return fmt.Errorf("%s: there is no column %q, which the topic %s needs", text.Joined(data), name, s.Topic)
		}
	}
	return nil
}

// home returns the function that tells the partition of a row, nil when rows go in turn, and the column of their key,
// -1 for none.
func (s *Sender) home(t *codec.Table) (partition func(row int) (int, error), key int, err error) {
	if s.Key != "" {
		if key = t.Column(s.Key); key >= 0 {
			return func(row int) (int, error) {
				text, _ := t.Text(key, row)
				return txn.Partition([]byte(text), s.Partitions), nil
			}, key, nil
		}
		if !s.Labels {
			return nil, -1, cli.Usagef("--key %s: the data have no such column", s.Key)
		}
	}
	if !s.Labels {
		return nil, -1, nil
	}
	source := t.Column(codec.ColumnPartition)
	return func(row int) (int, error) {
		p, ok := t.Int(source, row)
		if !ok || p < 0 || p >= int64(s.Partitions) {
			text, _ := t.Text(source, row)
			return 0, fmt.Errorf("%s is %q: the topic has the partitions 0 to %d", codec.ColumnPartition, text, s.Partitions-1)
		}
		return int(p), nil
	}, -1, nil
}

func (s *Sender) table(ctx context.Context, t *codec.Table) error {
	home, key, err := s.home(t)
	if err != nil {
		return err
	}
	if s.rows == nil {
		s.rows = make([][]int, s.Partitions)
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
			n := min(s.Batch, len(rows))
			if home == nil {
				p = s.turn % s.Partitions
				s.turn++
			}
			if err := s.Message(ctx, t, key, p, rows[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

// Message sends the given rows of a table to a partition, at once or with a later message; Flush sends the rest. column
// is that of the key, -1 = none.
func (s *Sender) Message(ctx context.Context, t *codec.Table, column, partition int, rows []int) error {
	value, err := s.Encoding.Append(nil, t, rows)
	if err != nil {
		return err
	}
	headers := eventHeaders(value, len(rows))
	if s.Mark.Key != "" {
		headers = append(headers, s.Mark)
	}
	s.queue = append(s.queue, txn.Record{Topic: s.Topic, Partition: partition, Key: shared(t, column, rows), Value: value,
		Headers: headers})
	s.queued += len(rows)
	s.bytes += len(value)
	if s.Rate > 0 || s.bytes >= sendBytes {
		return s.Flush(ctx)
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

// Flush waits until the queue is due and sends it.
func (s *Sender) Flush(ctx context.Context) error {
	if len(s.queue) == 0 {
		return nil
	}
	now := time.Now()
	if s.began.IsZero() {
		s.began = now
	}
	if s.Rate > 0 {
		due := s.began.Add(time.Duration(float64(s.Records) / s.Rate * float64(time.Second)))
		if err := Pause(ctx, due.Sub(now)); err != nil {
			return err
		}
		now = time.Now()
	}
	for i := range s.queue {
		s.queue[i].Time = now
	}
	if err := s.client.Produce(ctx, s.queue, txn.Lz4); err != nil {
		return fmt.Errorf("sending events: %w", err)
	}
	s.Records += s.queued
	if s.Progress != nil {
		s.Progress(int64(s.queued))
	}
	s.Messages += len(s.queue)
	s.queue, s.queued, s.bytes = s.queue[:0], 0, 0
	return nil
}
