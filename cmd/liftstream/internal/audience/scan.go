package audience

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// noTime is the time of a score that has none.
const noTime = math.MinInt64

// Scan reads all scores and calls f with each table, the place of its first row, and the time of rows that have none of
// their own. It may be called again, and then finds the same scores at the same places, and perhaps newer ones.
type Scan func(ctx context.Context, f func(t *codec.Table, at Place, time int64) error) error

// Files scans files of scores, as score --out and eval --scores write them. Where scores have no time, those of a later
// file are newer.
func Files(a *cli.App, paths []string) Scan {
	first := true
	return func(ctx context.Context, f func(t *codec.Table, at Place, time int64) error) error {
		var bar *cli.Progress
		if first {
			size, err := file.Size(paths)
			if err != nil {
				return err
			}
			bar = a.ProgressBytes("reading", size)
			first = false
		}
		defer bar.Finish()
		for k, path := range paths {
			if err := scanFile(ctx, path, int32(k), bar.Add, f); err != nil {
				return err
			}
		}
		return nil
	}
}

func scanFile(ctx context.Context, path string, number int32, progress func(int64),
	f func(t *codec.Table, at Place, time int64) error) error {
	r, err := file.OpenTables([]string{path}, file.TableOptions{Codec: codec.ScoreFileOptions(), Progress: progress})
	if err != nil {
		return err
	}
	defer r.Close()
	for n := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := r.Next()
		if err == io.EOF { // one that wraps it is damage
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(t, Place{Partition: number, Offset: n}, noTime); err != nil {
			var foreign *foreignError
			if errors.As(err, &foreign) {
				return &file.Error{File: path, Err: foreign.err, Remedy: "files of scores come from 'liftstream score --out' " +
					"and 'eval --scores'"}
			}
			return err
		}
		n += int64(t.Rows())
	}
}

// foreignError is returned when a table holds no scores.
type foreignError struct{ err error }

// Error is the message.
func (e *foreignError) Error() string { return e.err.Error() }

// Topic says which messages are scanned.
type Topic struct {
	Name  string // of the topic
	Stage string // messages of other stages are passed over
	Most  int64  // bytes of a message
	// Plain reads messages in the frame of a schema registry.
	Plain *codec.Plain
	// Unread is told of each message that is passed over because it cannot be read, once.
	Unread func(error)
}

// Scan scans the committed messages of all partitions, up to the end of the topic at the call.
func (o Topic) Scan(k *cluster.Cluster) Scan {
	again := false
	return func(ctx context.Context, f func(t *codec.Table, at Place, time int64) error) error {
		if again {
			o.Unread = func(error) {}
		}
		again = true
		return k.Follow(ctx, cluster.Following{Topic: o.Name, From: txn.Start}, func(records []txn.Record) (bool, error) {
			for i := range records {
				if err := o.message(ctx, &records[i], f); err != nil {
					return false, err
				}
			}
			return true, nil
		})
	}
}

func (o Topic) message(ctx context.Context, r *txn.Record, f func(t *codec.Table, at Place, time int64) error) error {
	if r.Unread != nil {
		o.Unread(r.Unread)
		return nil
	}
	if len(r.Value) == 0 || scores.Other(r, o.Stage) != "" {
		return nil
	}
	value := r.Value
	line, err := o.Plain.Line(value, ctx.Done())
	switch {
	case errors.Is(err, codec.ErrStopped):
		return ctx.Err()
	case err != nil:
		o.Unread(fmt.Errorf("%s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err))
		return nil
	case line != nil:
		value = line
	}
	tables := codec.Tables(value, o.Most)
	if bytes.HasPrefix(value, []byte("{")) {
		tables = file.JSONTables(value, file.TableOptions{Codec: codec.ScoreFileOptions()})
	}
	at := Place{Partition: int32(r.Partition), Offset: r.Offset}
	stamp := int64(noTime)
	if t := scores.TimeOf(r); !t.IsZero() {
		stamp = t.UnixNano()
	}
	for t, err := range tables {
		if err == nil {
			err = f(t, at, stamp)
		}
		var foreign *foreignError
		var message *codec.MessageError
		var text *file.Error
		switch {
		case errors.As(err, &foreign), errors.As(err, &message), errors.As(err, &text):
			o.Unread(fmt.Errorf("%s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err))
			return nil
		case err != nil:
			return err
		}
		at.Row += int32(t.Rows())
	}
	return nil
}
