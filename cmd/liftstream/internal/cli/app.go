// Package cli is the common part of the commands: the three streams and the flags of every command, the errors with
// their exit statuses, files that appear whole or not at all, and progress on a terminal.
//
// Begin at App.
package cli

import (
	"fmt"
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// App holds the three streams and the flags that every command has.
type App struct {
	In  io.Reader
	Out io.Writer // results; its errors are of the environment
	Err io.Writer // progress and logs

	Quiet    bool
	LogLevel string
	LogForm  string
	Level    zap.AtomicLevel // of the log that Logger has made
	Started  bool            // the code of a command runs: errors from here on are not errors of usage
}

// New returns an App over three streams.
func New(in io.Reader, out, err io.Writer) *App { return &App{In: in, Out: sink{out}, Err: err} }

// sink marks the errors of a writer as those of the environment.
type sink struct{ w io.Writer }

func (s sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	return n, Environment(err)
}

// Check reports flags of the log that have no meaning.
func (a *App) Check() error {
	if _, err := zapcore.ParseLevel(a.LogLevel); err != nil {
		return Usagef("--log-level %s: it is one of debug, info, warn, error", a.LogLevel)
	}
	switch a.LogForm {
	case "auto", "console", "json":
		return nil
	}
	return Usagef("--log-format %s: it is one of auto, console, json", a.LogForm)
}

// OnTerminal reports whether a stream is a terminal.
func OnTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Notef writes one line for people to standard error, unless the user wants quiet.
func (a *App) Notef(format string, args ...any) {
	if !a.Quiet {
		fmt.Fprintf(a.Err, format+"\n", args...)
	}
}

// Step is Notef on a terminal, and nothing elsewhere.
func (a *App) Step(format string, args ...any) {
	if OnTerminal(a.Err) {
		a.Notef(format, args...)
	}
}

// Logger returns the structured log of a long-running command, on standard error. It bounds the lines of each message
// and counts the others (heldBack). Its owner calls Sync at the end.
func (a *App) Logger() *zap.Logger {
	level, err := zapcore.ParseLevel(a.LogLevel)
	if err != nil {
		level = zapcore.InfoLevel
	}
	a.Level = zap.NewAtomicLevelAt(level)
	terminal := OnTerminal(a.Err)
	e := zap.NewProductionEncoderConfig()
	e.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	e.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(e)
	if a.LogForm == "console" || a.LogForm == "auto" && terminal {
		e.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		e.EncodeLevel = zapcore.CapitalLevelEncoder
		if terminal {
			e.EncodeLevel = zapcore.CapitalColorLevelEncoder
		}
		encoder = zapcore.NewConsoleEncoder(e)
	}
	return zap.New(newHeldBack(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.Err)), a.Level)))
}
