package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/stream/state"
)

// version is that of a release, set by the linker: -ldflags "-X main.version=1.2.3". Without it the build information
// of the module answers.
var version string

func versionCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.Command{
		Group: cli.GroupOther,
		Use:   "version",
		About: `Print version, commit, Go and the formats
Prints the properties of this binary, one a line: its version, the commit that it was built from, the version of Go,
and the versions of the binary formats that it writes.`,
		Example: `liftstream version`,
		Args:    cli.Needs(0, 0, ""),
		Run: func(context.Context, []string) error {
			v, commit := build()
			_, err := fmt.Fprintf(a.Out, "version %s\ncommit  %s\ngo      %s %s/%s\nstate   format %d\nmodel   format "+
				"%d\ntopics  format %d\n",
				v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, model.StateFormat, model.ModelFormat, state.Format)
			return cli.Environment(err)
		},
	})
}

// build returns the version and the commit of this binary.
func build() (v, commit string) {
	v, commit = "unreleased", "unknown"
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v = info.Main.Version
	}
	if version != "" {
		v = version
	}
	if !ok {
		return v, commit
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && commit != "unknown":
			commit += " (modified)"
		}
	}
	return v, commit
}
