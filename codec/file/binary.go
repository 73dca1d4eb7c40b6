package file

import (
	"errors"
	"fmt"
	"io"

	"liftstream/codec"
)

// ipcFile reads Arrow streams and files.
type ipcFile struct {
	f    *stored
	s    *codec.TableStream
	done int64
}

func openArrow(f *stored) (*ipcFile, error) {
	in, err := arrowParts(f)
	if err != nil {
		return nil, err
	}
	s, err := codec.NewTableStream(in)
	if err != nil {
		var merr *codec.MessageError
		if errors.As(err, &merr) && merr.Reason == codec.ReasonNotArrow {
			return nil, &Error{Err: merr.Err, Remedy: "is it really Arrow (version 2 for feather)?"}
		}
		return nil, err
	}
	if len(s.Names()) == 0 {
		return nil, &Error{Err: errors.New("its schema has no columns"), Remedy: damaged}
	}
	if err := sameSchema(f, in, s); err != nil {
		return nil, err
	}
	return &ipcFile{f: f, s: s}, nil
}

// sameSchema compares the schema at the beginning of an Arrow file, which Polars leaves out, with that of its footer.
func sameSchema(f *stored, in io.Reader, s *codec.TableStream) error {
	if in == io.Reader(f) {
		return nil
	}
	first, err := codec.NewTableStream(io.NewSectionReader(f.f, 0, 1<<62))
	if err != nil || first.SameSchema(s) {
		return nil
	}
	return &Error{Err: errors.New("the schema at its beginning is not that of its footer"), Remedy: damaged}
}

func (a *ipcFile) names() ([]string, error) { return a.s.Names(), nil }
func (a *ipcFile) close() error             { return a.f.close() }

func (a *ipcFile) next() (*codec.Table, error) {
	t, err := a.s.Next()
	if err != nil {
		return nil, err
	}
	if err := sound(t, a.done); err != nil {
		return nil, err
	}
	a.done += int64(t.Rows())
	return t, nil
}

// arrowParts gives an Arrow file in the order of its footer. A packed one, which cannot be read out of order, and a
// stream are read as they come.
func arrowParts(f *stored) (io.Reader, error) {
	if f.z != nil || f.f == nil {
		return f, nil
	}
	size, err := f.f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return f, nil // a pipe
	}
	in, rest, ok, err := footerOf(f.f, seekable{f}, size)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("reading arrow: %w", err), Remedy: damaged}
	}
	if !ok {
		return f, nil
	}
	if f.progress != nil {
		f.progress(rest)
	}
	return in, nil
}
