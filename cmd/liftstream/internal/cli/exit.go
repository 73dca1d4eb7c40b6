package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Exit statuses, as the interface promises them.
const (
	StatusDone        = 0
	StatusInput       = 1 // the input or the configuration is wrong
	StatusUsage       = 2 // the command line is wrong
	StatusEnvironment = 3 // the broker or the disk failed, or the command was stopped
)

// UsageError is returned when the command line itself is wrong.
type UsageError struct{ Err error }

// Error is the message.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error inside.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// EnvironmentError is returned when something outside the input failed: a broker, a disk.
type EnvironmentError struct{ err error }

// Error is the message.
func (e *EnvironmentError) Error() string { return e.err.Error() }

// Unwrap returns the error inside.
func (e *EnvironmentError) Unwrap() error { return e.err }

// Environment marks err as a failure of the environment; nil stays nil.
func Environment(err error) error {
	if err == nil {
		return nil
	}
	return &EnvironmentError{err}
}

// ErrFound is returned when a command has found problems and printed them.
var ErrFound = errors.New("problems were found")

// exhausted are the errors of a machine that lacks something.
var exhausted = []error{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE,
	syscall.ENOMEM}

// Status is the exit status of the process for an error of a command.
func Status(err error) int {
	var usage *UsageError
	var env *EnvironmentError
	switch {
	case err == nil:
		return StatusDone
	case errors.As(err, &usage):
		return StatusUsage
	case errors.As(err, &env), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return StatusEnvironment
	}
	if slices.ContainsFunc(exhausted, func(sick error) bool { return errors.Is(err, sick) }) {
		return StatusEnvironment
	}
	return StatusInput
}

// Complaint is the text of an error on standard error.
func Complaint(err error) string {
	var broken *brokenConfig
	switch {
	case errors.Is(err, ErrFound):
		return ""
	case errors.As(err, &broken):
		return broken.Error() + "\n"
	case errors.Is(err, context.Canceled):
		return "liftstream: interrupted\n"
	}
	return "liftstream: " + err.Error() + "\n"
}
