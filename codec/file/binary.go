package file

import (
	"errors"

	"liftstream/codec"
)

// ipcFile reads Arrow streams and files.
type ipcFile struct {
	f *stored
	s *codec.TableStream
}

func openArrow(f *stored) (*ipcFile, error) {
	s, err := codec.NewTableStream(f)
	if err != nil {
		var merr *codec.MessageError
		if errors.As(err, &merr) && merr.Reason == codec.ReasonNotArrow {
			return nil, &Error{Err: merr.Err, Remedy: "is it really Arrow (version 2 for feather)?"}
		}
		return nil, err
	}
	return &ipcFile{f, s}, nil
}

func (a *ipcFile) names() ([]string, error)    { return a.s.Names(), nil }
func (a *ipcFile) next() (*codec.Table, error) { return a.s.Next() }
func (a *ipcFile) close() error                { return a.f.close() }
