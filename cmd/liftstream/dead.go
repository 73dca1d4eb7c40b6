package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/stream/deadletter"
)

func deadCommand(a *cli.App) *cobra.Command {
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "dead list|show|replay|skip -c FILE",
		About: `Look at rejected rows and messages, and send them again
'list' lists the letters of the dead-letter topic and counts them by reason, 'show' prints one in full, 'replay' sends
the messages of letters to their topic again, each exactly once, and 'skip' has the stage pass by a message that ends
it. A letter is named by its partition and offset in the dead-letter topic, as in 0/17.`,
		Example: `liftstream dead list -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.NoCommand,
		Run: func(context.Context, []string) error {
			return cli.Usagef("say 'liftstream dead list -c FILE', or 'show' or 'replay' in place of 'list'")
		},
	})
	c.SuggestionsMinimumDistance = 2
	c.FParseErrWhitelist.UnknownFlags = true // the name of the subcommand is wrong, not its flags
	c.AddCommand(deadListCommand(a), deadShowCommand(a), deadReplayCommand(a), deadSkipCommand(a))
	return c
}

// letterFlags are the flags that pick dead letters.
type letterFlags struct {
	reasons, stages []string
	partitions      []int
	offsets         string
	since, until    string
}

func (l *letterFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&l.reasons, "reason", nil, "only letters of this `REASON`; may be repeated")
	f.StringSliceVar(&l.stages, "stage", nil, "only letters of events or labels: `STAGE` is events or labels")
	f.IntSliceVar(&l.partitions, "partition", nil, "only letters whose message was in the partition `P`; may be repeated")
	f.StringVar(&l.offsets, "offsets", "", "only letters whose message was at an offset in `FROM:TO`, TO included; "+
		"either may be left out")
	f.StringVar(&l.since, "since", "", "only letters of messages first seen at `TIME` or later: 2026-01-31T12:00:00Z, or "+
		"an age such as 2h")
	f.StringVar(&l.until, "until", "", "only letters of messages first seen before `TIME`")
}

// filter picks letters by the flags, from the named ones where any is named.
func (l *letterFlags) filter(now time.Time, letters []string) (f deadletter.Filter, err error) {
	for _, r := range l.reasons {
		f.Reasons = append(f.Reasons, codec.Reason(r))
	}
	for _, s := range l.stages {
		if !slices.Contains([]string{codec.StageEvents, codec.StageLabels}, s) {
			return f, cli.Usagef("--stage %s: it is events or labels", s)
		}
	}
	f.Stages, f.Partitions = l.stages, l.partitions
	if from, to, ok := strings.Cut(l.offsets, ":"); l.offsets != "" {
		number := func(text string, none int64) int64 {
			if text == "" {
				return none
			}
			n, malformed := strconv.ParseInt(text, 10, 64)
			ok = ok && malformed == nil && n >= 0
			return n
		}
		if f.From, f.To = number(from, 0), number(to, -1)+1; !ok {
			return f, cli.Usagef("--offsets %s: it is FROM:TO, such as 100:200, 100: or :200", l.offsets)
		}
	}
	if f.Since, err = pastTime("since", l.since, now); err != nil {
		return f, err
	}
	if f.Until, err = pastTime("until", l.until, now); err != nil {
		return f, err
	}
	for _, text := range letters {
		at, err := letterPlace(text)
		if err != nil {
			return f, err
		}
		f.Letters = append(f.Letters, at)
	}
	return f, nil
}

// pastTime reads the value of a flag that is a time or an age.
func pastTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usagef("--%s %s: it is a time such as 2026-01-31T12:00:00Z, or an age such as 2h", flag, text)
}

// letterPlace reads the name of a letter.
func letterPlace(text string) (at deadletter.Place, err error) {
	partition, offset, ok := strings.Cut(text, "/")
	if at.Partition, err = strconv.Atoi(partition); ok && err == nil {
		at.Offset, err = strconv.ParseInt(offset, 10, 64)
	}
	if !ok || err != nil || at.Partition < 0 || at.Offset < 0 {
		return at, cli.Usagef("%s names no letter: it is PARTITION/OFFSET, such as 0/17, as 'liftstream dead list' prints it",
			text)
	}
	return at, nil
}

// letterFormat checks the value of --format.
func letterFormat(format string, known ...string) error {
	if !slices.Contains(known, format) {
		return cli.Usagef("--format %s: it is one of %s", format, strings.Join(known, ", "))
	}
	return nil
}

// stateOf says in a word whether a letter waits.
func stateOf(sent bool) string {
	if sent {
		return "sent"
	}
	return "waits"
}
