package records

import (
	"cmp"
	"context"
	"errors"
	"io"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec/file"
	"liftstream/model"
)

// Source reads the files once for each pass that a protocol makes.
type Source struct {
	App     *cli.App
	Context context.Context // of the command; a pass ends with it
	Data    []string
	Options file.Options
	Passes  int    // that the protocol will make, for the progress bar
	Label   string // of the progress bar; "" = evaluating

	bar    *cli.Progress
	opened int
}

// Batches reads the files once more; the batch is valid until the next one.
func (s *Source) Batches(yield func(*model.Batch, error) bool) {
	if s.bar == nil {
		size, err := file.Size(s.Data)
		if err != nil {
			yield(nil, err)
			return
		}
		s.bar = s.App.ProgressBytes(cmp.Or(s.Label, "evaluating"), size*int64(s.Passes))
	}
	s.Options.Progress = s.bar.Add
	s.opened++
	r, err := file.Open(s.Data, s.Options)
	if err != nil {
		yield(nil, err)
		return
	}
	defer func() {
		r.Close()
		if s.opened == s.Passes {
			s.bar.Finish()
			note(s.App, r.Notes())
		}
	}()
	var b model.Batch
	for {
		err := s.Context.Err()
		if err == nil {
			err = r.Next(&b, nil)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(&b, nil) {
			return
		}
	}
}

// Plain returns the error of a file that is inside err: it names the place better than the protocol does.
func Plain(err error) error {
	var f *file.Error
	if errors.As(err, &f) {
		return f
	}
	return err
}
