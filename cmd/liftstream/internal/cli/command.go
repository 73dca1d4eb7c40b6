package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Groups of commands in the help.
const (
	GroupFiles = "files"
	GroupLive  = "live"
	GroupOther = "other"
)

// Command describes a subcommand.
type Command struct {
	Group string // one of the groups, "" below another command
	Use   string // the line of usage
	About string // the text of the help; its first line is the summary
	// Example works when it is pasted in the root of the repository.
	Example string
	Args    cobra.PositionalArgs
	Run     func(ctx context.Context, args []string) error
}

// Command builds a subcommand.
func (a *App) Command(c Command) *cobra.Command {
	short, long, _ := strings.Cut(c.About, "\n")
	return &cobra.Command{
		GroupID: c.Group, Use: c.Use, Short: short, Long: strings.TrimSpace(short + "\n\n" + long),
		Example: "  " + strings.ReplaceAll(strings.TrimSpace(c.Example), "\n", "\n  "),
		Args:    c.Args, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.Check(); err != nil {
				return err
			}
			a.Started = true
			return c.Run(cmd.Context(), args)
		},
	}
}

// NoCommand is a check of the arguments of a command that has subcommands: any argument is a misspelt subcommand.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		message += " (did you mean " + strings.Join(s, " or ") + "?)"
	}
	return Usagef("%s", message)
}

// Needs is a check of arguments: at least min of them, of the given name; max below 0 sets no bound.
func Needs(min, max int, name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return Usagef("%s needs %s: %s", cmd.Name(), name, cmd.UseLine())
		case max >= 0 && len(args) > max:
			return Usagef("%s: %q is one argument too many: %s", cmd.Name(), args[max], cmd.UseLine())
		}
		return nil
	}
}

// ConfigFlag adds -c to a command.
func ConfigFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "", "configuration `FILE` (required)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// ConfigsFlag gives the command a flag -c that may be repeated.
func ConfigsFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVarP(files, "config", "c", nil, "configuration `FILE` (required; may be repeated)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// Address checks the value of a flag that is a host and a port.
func Address(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return Usagef("--%s %s: it is HOST:PORT, such as 127.0.0.1:9092", flag, value)
	}
	return nil
}
