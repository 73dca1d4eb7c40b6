package main

import "github.com/spf13/cobra"

// liveCommands are the commands that talk to brokers, in the order of the help.
func liveCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(a),
		brokerCommand(a),
		topicsCommand(a),
		produceCommand(a),
		runCommand(a),
		tailCommand(a),
		verifyCommand(a),
	}
}
