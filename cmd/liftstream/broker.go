package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/embedded"
)

func brokerCommand(a *cli.App) *cobra.Command {
	var o embedded.Options
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "broker --dir DIR [--listen HOST:PORT]",
		About: `Run the embedded Kafka broker alone
Runs a Kafka broker inside this process for other programs to connect to, with its topics on disk in DIR, until it is
interrupted. It is for development: one node, no replication, neither encryption nor a password, which is why it
listens on this machine only unless --insecure says otherwise.

Its address goes to standard output. Commands whose configuration says 'kafka: {embedded: {dir: DIR}}' find it by DIR.`,
		Example: `liftstream broker --dir liftstream-data/broker`,
		Args:    cli.Needs(0, 0, ""),
		Run: func(ctx context.Context, _ []string) error {
			if o.Dir == "" {
				return cli.Usagef("the directory is missing: give it with --dir DIR")
			}
			if err := cli.Address("listen", o.Listen); err != nil {
				return err
			}
			host, _, _ := net.SplitHostPort(o.Listen)
			if ip := net.ParseIP(host); !o.Insecure && (host == "" || ip != nil && !ip.IsLoopback()) {
				return cli.Usagef("--listen %s: this is no loopback address, and the broker has neither encryption nor a "+
					"password; --insecure listens there all the same", o.Listen)
			}
			broker, err := embedded.Share(o)
			if err != nil {
				return cli.Environment(err)
			}
			defer broker.Close()
			at := broker.Addr()
			if !broker.Own() {
				return cli.Environment(fmt.Errorf("a broker runs on %s already, at %s", o.Dir, at))
			}
			if _, err := fmt.Fprintln(a.Out, at); err != nil {
				return err
			}
			a.Notef("the broker listens on %s, its topics are in %s; interrupt it to stop", at, o.Dir)
			<-ctx.Done()
			return nil
		},
	})
	c.Flags().StringVar(&o.Dir, "dir", "", "keep the topics in `DIR`, which is made when missing (required)")
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:9092", "listen on `HOST:PORT`; port 0 is any free one")
	c.Flags().StringVar(&o.Advertise, "advertise", "", "tell clients to connect to `HOST`; default: the host of --listen")
	c.Flags().BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine, without encryption or password")
	c.Flags().BoolVar(&o.SyncWrites, "sync", false, "force every write to the disk before it is acknowledged")
	_ = c.MarkFlagDirname("dir")
	return c
}
