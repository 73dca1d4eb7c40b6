package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"

	"github.com/spf13/cobra"
)

// TestExamplesOfTheOfflineCommandsWork runs the examples of the help in a copy of the repository's examples.
func TestExamplesOfTheOfflineCommandsWork(t *testing.T) {
	long(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "cmd/liftstream/examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	commands := []*cobra.Command{rootCommand(&cli.App{})}
	for _, c := range commands[0].Commands() {
		if c.GroupID == cli.GroupFiles || c.Name() == "version" || c.Name() == "inspect" {
			commands = append(commands, c)
		}
	}
	for _, c := range commands {
		for _, line := range strings.Split(c.Example, "\n") {
			args := strings.Fields(line)
			if len(args) == 0 || args[0] != "liftstream" {
				t.Fatalf("%s: example %q", c.Name(), line)
			}
			out := ""
			if n := len(args); args[n-2] == ">" {
				args, out = args[:n-2], args[n-1]
			}
			r := command(t, args[1:]...)
			if r.status != cli.StatusDone {
				t.Errorf("%s: %s: status %d: %s", c.Name(), line, r.status, r.err)
			}
			if out != "" {
				if err := os.WriteFile(out, []byte(r.out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
