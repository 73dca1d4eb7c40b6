package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
)

const (
	probeTime   = 5 * time.Second // a probe of a container has some seconds
	probeAnswer = 1 << 20         // bytes of an answer that are read
)

type probing struct {
	file, address string
	live          bool
}

func probeCommand(a *cli.App) *cobra.Command {
	var p probing
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "probe -c FILE|--address HOST:PORT [--live]",
		About: `Ask a running stage whether it is ready
Asks /readyz of the stage at http.listen of the configuration, on this machine, and prints 'ready' or the things for
which it waits, one a line. The exit status is 0 when the stage is ready, and 3 when it is not or does not answer within
five seconds. A stage that restores a state is alive and not ready: --live asks /healthz, for a probe that ends a hung
process. Neither needs the token.

It is the health check of a container that has no shell, and of a script after 'systemctl start'.`,
		Example: `liftstream probe -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return p.run(ctx, a) },
	})
	cli.ConfigFlag(c, &p.file)
	c.Flags().Lookup("config").Usage = "configuration `FILE` of the stage"
	c.Flags().StringVar(&p.address, "address", "", "ask `HOST:PORT` in place of http.listen")
	c.Flags().BoolVar(&p.live, "live", false, "ask whether it lives, ready or not")
	return c
}

// run asks once. Nothing is asked again: the program that calls it does that.
func (p *probing) run(ctx context.Context, a *cli.App) error {
	address := p.address
	if address == "" {
		c, err := a.LoadOffline(p.file)
		if err != nil {
			return err
		}
		address = c.HTTP.Listen
	} else if err := cli.Address("address", address); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("reading http.listen: %w", err)
	}
	if port == "0" {
		return cli.Usagef("%s has a free port of each start: give --address, as the log of 'run' names it", address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	path := "/readyz"
	if p.live {
		path = "/healthz"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	url := "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port) + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return cli.Usagef("%s: %w", address, err)
	}
	// A proxy of the environment would answer for somebody else.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return cli.Environment(fmt.Errorf("asking the stage: %w", err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, probeAnswer))
	if err != nil {
		return cli.Environment(fmt.Errorf("asking the stage at %s: %w", url, err))
	}
	return p.tell(a, url, answer.StatusCode, body)
}

// tell prints an answer and turns it into the exit status.
func (p *probing) tell(a *cli.App, url string, status int, body []byte) error {
	var stage struct {
		Ready   *bool
		Waiting []string
	}
	switch {
	case p.live && status == http.StatusOK:
		_, err := fmt.Fprintln(a.Out, "alive")
		return err
	case p.live || status != http.StatusOK && status != http.StatusServiceUnavailable:
		return cli.Environment(fmt.Errorf("asking the stage: %s answers %d %s", url, status, http.StatusText(status)))
	case json.Unmarshal(body, &stage) != nil || stage.Ready == nil:
		return cli.Environment(fmt.Errorf("asking the stage: %s does not answer as a stage does", url))
	case status == http.StatusOK:
		_, err := fmt.Fprintln(a.Out, "ready")
		return err
	}
	for _, w := range stage.Waiting {
		fmt.Fprintln(a.Out, w)
	}
	return cli.Environment(errors.New("the stage is not ready"))
}
