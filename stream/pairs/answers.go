package pairs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"liftstream/codec"
	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// cursor reads the committed messages of a partition in order, up to its end at the call of newCursor.
type cursor struct {
	client    *txn.Client
	topic     string
	partition int
	next, end int64
	records   []txn.Record
}

const (
	fetchBytes = 4 << 20
	fetchWait  = 100 * time.Millisecond
)

func newCursor(ctx context.Context, c *txn.Client, topic string, partition int) (*cursor, error) {
	start, end, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", topic, err)
	}
	return &cursor{client: c, topic: topic, partition: partition, next: start, end: end}, nil
}

// peek returns the next message, nil at the end. It is valid until the call after pop.
func (c *cursor) peek(ctx context.Context) (*txn.Record, error) {
	for len(c.records) == 0 {
		if c.next >= c.end {
			return nil, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := c.client.Fetch(ctx, c.topic, c.partition, c.next, fetchBytes, fetchWait)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", c.topic, err)
		}
		c.records, c.next = got.Records, got.Next
	}
	if c.records[0].Offset >= c.end { // a fetch may bring more than there was at the call
		c.records, c.next = nil, c.end
		return nil, nil
	}
	return &c.records[0], nil
}

func (c *cursor) pop() { c.records = c.records[1:] }

// answers reads the scores of a stage event by event.
type answers struct {
	*cursor
	name    string
	classes []string
	most    int64 // bytes of a message
	plain   codec.Plain
	done    <-chan struct{}
	rows    []int32
	p       []float64 // of rows, by class
}

func newAnswers(ctx context.Context, o *Options, s Stage, partition int) (*answers, error) {
	c, err := newCursor(ctx, o.Client, s.Scores, partition)
	return &answers{cursor: c, name: s.Name, classes: o.Codec.Schema.Classes, most: 4 * o.Codec.MaxMessage,
		plain: codec.Plain{Schemas: o.Codec.Schemas, Most: 4 * o.Codec.MaxMessage}, done: ctx.Done()}, err
}

// to gathers the scores of the event at an offset, none where it has none. The offsets must rise from call to call.
// Scores of earlier events that come later, made again after an operator has moved the offsets, are passed over.
func (a *answers) to(ctx context.Context, event int64) error {
	a.rows, a.p = a.rows[:0], a.p[:0]
	for {
		r, err := a.peek(ctx)
		if err != nil || r == nil {
			return err
		}
		of, err := scores.EventOf(r)
		if r.Unread != nil || err != nil || scores.Other(r, a.name) != "" || of < event {
			a.pop()
			continue
		}
		if of > event {
			return nil
		}
		a.pop()
		if err := a.read(r); err != nil {
			return fmt.Errorf("reading %s, partition %d, offset %d: %w", a.topic, a.partition, r.Offset, err)
		}
	}
}

// row returns the propensities of a row, nil where it has no score.
func (a *answers) row(row int32) []float64 {
	i, ok := slices.BinarySearch(a.rows, row)
	if !ok {
		return nil
	}
	return a.p[i*len(a.classes) : (i+1)*len(a.classes)]
}

func (a *answers) read(r *txn.Record) error {
	value := r.Value
	line, err := a.plain.Line(value, a.done)
	if err != nil {
		return err
	}
	if line != nil {
		value = line
	}
	if bytes.HasPrefix(value, []byte("{")) {
		return a.readLines(value)
	}
	p := make([]float64, len(a.classes))
	for t, err := range codec.Tables(value, a.most) {
		if err != nil {
			return err
		}
		v, err := codec.NewScoreReader(t, a.classes)
		if err != nil {
			return err
		}
		for i := range t.Rows() {
			_, _, row := v.Place(i)
			for c := range p {
				p[c] = v.Propensity(c, i)
			}
			a.add(row, p)
		}
	}
	return nil
}

// readLines reads scores in JSON lines.
func (a *answers) readLines(value []byte) error {
	p := make([]float64, len(a.classes))
	for line := range bytes.Lines(value) {
		var x map[string]json.RawMessage
		if err := json.Unmarshal(line, &x); err != nil {
			return err
		}
		var row int32
		if err := json.Unmarshal(x[codec.ColumnRow], &row); err != nil {
			return fmt.Errorf("column %s: %w", codec.ColumnRow, err)
		}
		for c, class := range a.classes {
			p[c] = 0
			if text := x[codec.PropensityColumn(class)]; text != nil {
				if err := json.Unmarshal(text, &p[c]); err != nil {
					return fmt.Errorf("column %s: %w", codec.PropensityColumn(class), err)
				}
			}
		}
		a.add(row, p)
	}
	return nil
}

// add takes the propensities of a row. One without propensities, or that has them already, is left out.
func (a *answers) add(row int32, p []float64) {
	sum := 0.0
	for _, v := range p {
		if !(v >= 0 && v <= 1) {
			return
		}
		sum += v
	}
	if n := len(a.rows); math.Abs(sum-1) > 1e-6 || n > 0 && row <= a.rows[n-1] {
		return
	}
	a.rows, a.p = append(a.rows, row), append(a.p, p...)
}
