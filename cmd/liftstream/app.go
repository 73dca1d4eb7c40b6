package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"liftstream/config"
)

// app is what the commands share: the three streams and the flags of every command.
type app struct {
	in       io.Reader
	out      io.Writer // results
	err      io.Writer // progress and logs
	quiet    bool
	logLevel string
	logForm  string
	instance string // of run: its name among the processes of the group
	started  bool   // a command's own code has begun: what fails from here on is not usage
}

// execute runs one command line until it ends or ctx is cancelled, and returns the exit status.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	a := &app{in: stdin, out: stdout, err: stderr}
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "liftstream: internal error: %v; please report it with the command line and --log-level debug\n", r)
			if a.logLevel == "debug" {
				_, _ = stderr.Write(debug.Stack())
			}
			status = statusEnvironment
		}
	}()
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage *usageError
	if err != nil && !a.started && !errors.As(err, &usage) {
		err = &usageError{err}
	}
	if err != nil {
		_, _ = io.WriteString(stderr, complaint(err))
	}
	status = exitStatus(err)
	if status == statusUsage {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// rootCommand builds the whole tree of commands.
func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "liftstream",
		Short: "Scores live events with the features that matter for each of them",
		Long: `liftstream reads records, keeps statistics of them up to date, and answers every record with
how prone it is to each class and which of its features say so: live between two Kafka topics,
or from files.`,
		Example: `  liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv`,
		Args:    noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("no command given; the first to try is 'liftstream init DATA --label COLUMN'")
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress bars and no notes on standard error")
	f.StringVar(&a.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&a.logForm, "log-format", "auto", "console, json, or auto: console on a terminal, else json")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
				return usagef("%w (did you mean --%s?)", err, name)
			}
		}
		if before, _, ok := strings.Cut(err.Error(), ": strconv."); ok {
			return usagef("%s: it must be a number", before)
		}
		return &usageError{err}
	})
	root.AddGroup(&cobra.Group{ID: groupFiles, Title: "From files:"}, &cobra.Group{ID: groupLive, Title: "Live:"}, &cobra.Group{ID: groupOther, Title: "Other:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Tell how a command is used", GroupID: groupOther, RunE: func(cmd *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return noCommand(c, rest)
		}
		return c.Help()
	}})
	root.AddCommand(commands(a)...)
	return root
}

// Groups of commands in the help; Command.GroupID is one of them.
const (
	groupFiles = "files"
	groupLive  = "live"
	groupOther = "other"
)

// noCommand is a check of the arguments of a command that has subcommands: what is no subcommand is a slip.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		message += " (did you mean " + strings.Join(s, " or ") + "?)"
	}
	return usagef("%s", message)
}

// command builds a subcommand of a group. use is its line of usage, about the text of its help, whose first line is the
// summary; example works when pasted in the root of the repository.
func (a *app) command(group, use, about, example string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
	short, long, _ := strings.Cut(about, "\n")
	return &cobra.Command{
		GroupID: group, Use: use, Short: short, Long: strings.TrimSpace(short + "\n\n" + long), Example: "  " + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n  "),
		Args: args, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(); err != nil {
				return err
			}
			a.started = true
			return run(cmd.Context(), args)
		},
	}
}

func (a *app) check() error {
	if _, err := zapcore.ParseLevel(a.logLevel); err != nil {
		return usagef("--log-level %s: it is one of debug, info, warn, error", a.logLevel)
	}
	switch a.logForm {
	case "auto", "console", "json":
		return nil
	}
	return usagef("--log-format %s: it is one of auto, console, json", a.logForm)
}

// needs is a check of arguments: at least min of them, each called what; max below 0 sets no bound.
func needs(min, max int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return usagef("%s needs %s: %s", cmd.Name(), what, cmd.UseLine())
		case max >= 0 && len(args) > max:
			return usagef("%s: %q is one argument too many: %s", cmd.Name(), args[max], cmd.UseLine())
		}
		return nil
	}
}

// configFlag adds -c to a command.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "", "configuration `FILE` (required)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// onTerminal reports whether a stream is a terminal.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// notef writes one line for people to standard error.
func (a *app) notef(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// logger returns the structured log of a long-running command, on standard error. Its owner calls Sync at the end.
func (a *app) logger() *zap.Logger {
	level, err := zapcore.ParseLevel(a.logLevel)
	if err != nil {
		level = zapcore.InfoLevel
	}
	terminal := onTerminal(a.err)
	e := zap.NewProductionEncoderConfig()
	e.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	e.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(e)
	if a.logForm == "console" || a.logForm == "auto" && terminal {
		e.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		e.EncodeLevel = zapcore.CapitalLevelEncoder
		if terminal {
			e.EncodeLevel = zapcore.CapitalColorLevelEncoder
		}
		encoder = zapcore.NewConsoleEncoder(e)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.err)), level))
}
