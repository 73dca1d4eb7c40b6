package main

import "github.com/spf13/cobra"

// commands lists every subcommand in the order of the help.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		lintCommand(a),
		versionCommand(a),
	}
}
