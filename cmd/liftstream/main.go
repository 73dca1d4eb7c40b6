// Command liftstream scores live events with the features that matter for each of them. See "liftstream --help".
//
// Begin at Main. Each command has a file of its own here, and the packages under internal do its work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs one command line and returns its exit status. The first SIGINT or SIGTERM cancels the command, the second
// ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return execute(ctx, args, stdin, stdout, stderr)
}

// execute runs one command line until it ends or ctx is cancelled, and returns the exit status.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	a := cli.New(stdin, stdout, stderr)
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "liftstream: internal error: %v; please report it with the command line and --log-level debug\n",
				r)
			if a.LogLevel == "debug" {
				_, _ = stderr.Write(debug.Stack())
			}
			status = cli.StatusEnvironment
		}
	}()
	root := rootCommand(a)
	root.SetArgs(append([]string{}, args...)) // of nil cobra takes those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage *cli.UsageError
	if err != nil && !a.Started && !errors.As(err, &usage) {
		err = &cli.UsageError{Err: err}
	}
	if err != nil {
		_, _ = io.WriteString(stderr, cli.Complaint(err))
	}
	status = cli.Status(err)
	if status == cli.StatusUsage {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// rootCommand builds the whole tree of commands.
func rootCommand(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "liftstream",
		Short: "Scores live events with the features that matter for each of them",
		Long: `liftstream reads records, keeps statistics of them up to date, and answers every record with
how prone it is to each class and which of its features say so: live between two Kafka topics,
or from files.

'liftstream demo' shows it and needs no file. The examples of the help read files of the source tree.`,
		Example: `  liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv`,
		Args:    cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("no command given; the first to try is 'liftstream demo', or of your own data " +
				"'liftstream init DATA --label COLUMN'")
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress bars and no notes on standard error")
	f.StringVar(&a.LogLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&a.LogForm, "log-format", "auto", "console, json, or auto: console on a terminal, else json")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
				return cli.Usagef("%w (did you mean --%s?)", err, name)
			}
		}
		if before, _, ok := strings.Cut(err.Error(), ": strconv."); ok {
			return cli.Usagef("%s: it must be a number", before)
		}
		return &cli.UsageError{Err: err}
	})
	root.AddGroup(&cobra.Group{ID: cli.GroupFiles, Title: "From files:"}, &cobra.Group{ID: cli.GroupLive, Title: "Live:"},
		&cobra.Group{ID: cli.GroupOther, Title: "Other:"})
	root.SetHelpCommandGroupID(cli.GroupOther)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Tell how a command is used", GroupID: cli.GroupOther,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return cli.NoCommand(c, rest)
			}
			return c.Help()
		}})
	root.AddCommand(commands(a)...)
	return root
}

// commands lists every subcommand in the order of the help.
func commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		initCommand(a),
		fitCommand(a),
		scoreCommand(a),
		evalCommand(a),
		reportCommand(a),
		lintCommand(a),
		inspectCommand(a),
		reproduceCommand(a),
		versionCommand(a),
		demoCommand(a),
		brokerCommand(a),
		topicsCommand(a),
		bootstrapCommand(a),
		produceCommand(a),
		runCommand(a),
		probeCommand(a),
		tailCommand(a),
		audienceCommand(a),
		deadCommand(a),
		resumeCommand(a),
		forgetCommand(a),
		verifyCommand(a),
		compareCommand(a),
		promoteCommand(a),
		modelCommand(a),
	}
}
