package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"liftstream/stream/embedded"
)

// address checks the value of a flag that is a host and a port.
func address(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usagef("--%s %s: it is HOST:PORT, such as 127.0.0.1:9092", flag, value)
	}
	return nil
}

func brokerCommand(a *app) *cobra.Command {
	var o embedded.Options
	c := a.command(groupLive, "broker --dir DIR [--listen HOST:PORT]", `Run the embedded Kafka broker alone
Runs a Kafka broker inside this process for other programs to connect to, with its topics on disk in DIR, until it is
interrupted. It is for development: one node, no replication, neither encryption nor a password, which is why it
listens on this machine only unless --insecure says otherwise.

Its address goes to standard output. Commands whose configuration says 'kafka: {embedded: {dir: DIR}}' find it by DIR.`,
		`liftstream broker --dir liftstream-data/broker`, needs(0, 0, ""),
		func(ctx context.Context, _ []string) error {
			if o.Dir == "" {
				return usagef("the directory is missing: give it with --dir DIR")
			}
			if err := address("listen", o.Listen); err != nil {
				return err
			}
			host, _, _ := net.SplitHostPort(o.Listen)
			if ip := net.ParseIP(host); !o.Insecure && (host == "" || ip != nil && !ip.IsLoopback()) {
				return usagef("--listen %s: this is no loopback address, and the broker has neither encryption nor a password; --insecure listens there all the same", o.Listen)
			}
			own, at, err := openBroker(o)
			if err != nil {
				return err
			}
			if own == nil {
				return environment(fmt.Errorf("a broker runs on %s already, at %s", o.Dir, at))
			}
			defer own.close()
			if _, err := fmt.Fprintln(a.out, at); err != nil {
				return environment(err)
			}
			a.notef("the broker listens on %s, its topics are in %s; interrupt it to stop", at, o.Dir)
			<-ctx.Done()
			return nil
		})
	c.Flags().StringVar(&o.Dir, "dir", "", "keep the topics in `DIR`, which is made when missing (required)")
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:9092", "listen on `HOST:PORT`; port 0 is any free one")
	c.Flags().StringVar(&o.Advertise, "advertise", "", "tell clients to connect to `HOST`; default: the host of --listen")
	c.Flags().BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine, without encryption or password")
	c.Flags().BoolVar(&o.SyncWrites, "sync", false, "force every write to the disk before it is acknowledged")
	_ = c.MarkFlagDirname("dir")
	return c
}
