// Package records reads the data files of a command line: into batches, into the evidence of a fit, with the triples
// that compare their records; and writes tables of scores to files. Begin at Open and Collect.
package records

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/report/text"
)

// Open opens data files with a progress bar of the given label.
func Open(a *cli.App, label string, data []string, o file.Options) (*file.Reader, *cli.Progress, error) {
	size, err := file.Size(data)
	if err != nil {
		return nil, nil, err
	}
	bar := a.ProgressBytes(label, size)
	o.Progress = bar.Add
	r, err := file.Open(data, o)
	if err != nil {
		bar.Finish()
		return nil, nil, err
	}
	return r, bar, nil
}

// Collect reads all records of the files and gives them to add, batch by batch. It returns their number.
func Collect(ctx context.Context, a *cli.App, data []string, o file.Options, add func(b *model.Batch)) (int, error) {
	r, bar, err := Open(a, "reading", data, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer bar.Finish()
	n := 0
	var b model.Batch
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			bar.Finish()
			note(a, r.Notes())
			break
		}
		if err != nil {
			return n, err
		}
		add(&b)
		n += b.N
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: no records", text.Joined(data))
	}
	return n, nil
}

// Gather reads the files into a builder and returns the number of records. It calls each, unless that is nil, for every
// record with its position in the data, its class, and its number in the evidence, -1 when it is not there. It notes in
// c, unless that is nil, where the records of the triples are.
func Gather(ctx context.Context, a *cli.App, data []string, o file.Options, builder *model.Builder, c *Comparisons,
	each func(row int64, class, index int32)) (int, error) {
	if c != nil && o.Codec.ID == "" {
		return 0, fmt.Errorf("--triples %s: the configuration names no id; set record.id to the column that the triples "+
			"speak of", c.file)
	}
	row, kept := int64(0), int32(0)
	n, err := Collect(ctx, a, data, o, func(b *model.Batch) {
		builder.Add(b)
		for i := range b.N {
			index := int32(-1)
			if builder.Takes(b, i) {
				index = kept
				kept++
			}
			if each != nil {
				each(row, b.Label[i], index)
			}
			row++
			if c != nil {
				c.meet(b.ID[i], row, index)
			}
		}
	})
	return n, err
}

// Nth scores the record with the number n, from 0, with p.
func Nth(ctx context.Context, a *cli.App, data []string, o codec.Options, n int64, p *model.Partition) (*model.Scores,
	error) {
	if n < 0 {
		return nil, cli.Usagef("--record %d: records are numbered from 0", n)
	}
	r, bar, err := Open(a, "looking for the record", data, file.Options{Codec: o, Rows: 1})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	defer bar.Finish()
	var b model.Batch
	for i := int64(0); i <= n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("--record %d: %s has %s, numbered from 0", n, text.Joined(data), text.Count(int(i), "record"))
		}
		if err != nil {
			return nil, err
		}
	}
	Number(&b, n)
	var scores model.Scores
	p.Events(&b, &scores)
	return &scores, nil
}

// Number gives the records of a batch the numbers from n on as their positions, so that these do not depend on the size
// of batches.
func Number(b *model.Batch, n int64) {
	b.Offset = n >> 31
	for i := range b.N {
		b.Row[i] = int32((n + int64(i)) & math.MaxInt32)
	}
}

// WriteTables writes the tables of feed to a file in the format of its name, or as JSON lines to standard output. The
// name shows the whole file or nothing.
func WriteTables(a *cli.App, path string, feed func(write func(t *codec.Table) error) error) error {
	if path == "-" {
		w := bufio.NewWriterSize(a.Out, 1<<16)
		var line []byte
		err := feed(func(t *codec.Table) error {
			for i := range t.Rows() {
				line = append(t.AppendJSON(line[:0], i), '\n')
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, w.Flush())
	}
	return cli.ReplaceFile(path, func(name string) error {
		w, err := file.Create(name)
		if err != nil {
			return err
		}
		err = feed(func(t *codec.Table) error {
			if err := w.Write(t); err != nil {
				return cli.Environment(fmt.Errorf("writing %s: %w", path, err))
			}
			return nil
		})
		if closing := w.Close(); err == nil && closing != nil {
			err = cli.Environment(fmt.Errorf("writing %s: %w", path, closing))
		}
		return err
	})
}
