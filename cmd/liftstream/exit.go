package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Exit statuses, as the interface promises them.
const (
	statusDone        = 0
	statusInput       = 1 // the input or the configuration is wrong
	statusUsage       = 2 // the command line is wrong
	statusEnvironment = 3 // the broker, the disk, or whoever stopped the command
)

// usageError is returned when the command line itself is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// environmentError is returned when something outside the input failed: a broker, a disk.
type environmentError struct{ err error }

func (e *environmentError) Error() string { return e.err.Error() }
func (e *environmentError) Unwrap() error { return e.err }

// environment marks err as a failure of the environment; nil stays nil.
func environment(err error) error {
	if err == nil {
		return nil
	}
	return &environmentError{err}
}

// errFound is returned when a command has printed what is wrong already.
var errFound = errors.New("problems were found")

// exitStatus says which status an error of a command ends the process with.
func exitStatus(err error) int {
	var usage *usageError
	var env *environmentError
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &usage):
		return statusUsage
	case errors.As(err, &env), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return statusEnvironment
	}
	for _, sick := range []error{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, sick) {
			return statusEnvironment
		}
	}
	return statusInput
}

// complaint is what standard error shows of an error.
func complaint(err error) string {
	var broken *brokenConfig
	switch {
	case errors.Is(err, errFound):
		return ""
	case errors.As(err, &broken):
		return broken.Error() + "\n"
	case errors.Is(err, context.Canceled):
		return "liftstream: interrupted\n"
	}
	return "liftstream: " + err.Error() + "\n"
}
