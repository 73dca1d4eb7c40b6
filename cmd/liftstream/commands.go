package main

import "github.com/spf13/cobra"

// commands lists every subcommand in the order of the help.
func commands(a *app) []*cobra.Command {
	return append([]*cobra.Command{
		initCommand(a),
		fitCommand(a),
		scoreCommand(a),
		evalCommand(a),
		lintCommand(a),
		inspectCommand(a, inspectTopic),
		reproduceCommand(a),
		versionCommand(a),
	}, liveCommands(a)...)
}
