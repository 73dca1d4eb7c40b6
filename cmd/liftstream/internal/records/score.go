package records

import (
	"context"
	"errors"
	"fmt"
	"io"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
)

// Scoring says how Score reads records and writes their scores.
type Scoring struct {
	In   file.Options
	Out  codec.Options
	Path string // see WriteTables
}

// Score writes the scores of all records of the files by p and returns their number. The position of a record is its
// number over all files.
func (o Scoring) Score(ctx context.Context, a *cli.App, data []string, p *model.Partition) (n int64, err error) {
	r, bar, err := Open(a, "scoring", data, o.In)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer bar.Finish()
	encoder, err := codec.NewScoreEncoder(o.Out)
	if err != nil {
		return 0, err
	}
	err = WriteTables(a, o.Path, func(write func(t *codec.Table) error) error {
		var b model.Batch
		var carry codec.Carry
		var scores model.Scores
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := r.Next(&b, &carry)
			if errors.Is(err, io.EOF) {
				bar.Finish()
				note(a, r.Notes())
				return nil
			}
			if err != nil {
				return err
			}
			Number(&b, n)
			p.Events(&b, &scores)
			t, err := encoder.Table(&b, &scores, p.Levels(), &carry)
			if err != nil {
				return fmt.Errorf("writing scores: %w", err)
			}
			if err := write(t); err != nil {
				return err
			}
			n += int64(b.N)
		}
	})
	return n, err
}
