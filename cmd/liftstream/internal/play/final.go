package play

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/cmd/liftstream/internal/live"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model"
	"liftstream/model/evaluate"
)

// final writes the figures as the topics give them.
func (s *run) final(ctx context.Context, web string) error {
	t := cluster.Topics(s.config)
	builder := model.NewBuilder(s.stage.Spec)
	l, err := demo.Read(ctx, s.cluster.Client, s.topics(), s.stage.Codec, demo.Watch{Events: builder.Add})
	if err != nil {
		return err
	}
	exact, err := builder.FitAsOfEnd(ctx)
	if err != nil {
		return err
	}
	best, err := live.Strongest(s.stage, exact)
	if err != nil {
		return err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s records sent, %s scored, %s twice, %s not scored, %s rejected", page.Count(int64(l.Events)),
		page.Count(int64(l.Scored)),
		none(l.Twice+l.Strange), none(l.Missing()), none(l.Dead))
	m := l.Set(s.set.Skip).Metrics(s.stage.Spec.Schema.Positive, 1)
	line("")
	line("how good (each scored before it was learnt; the first %s not counted)", page.Count(int64(s.set.Skip)))
	line("  AUC         %.4f", float64(m.AUC))
	line("  AUC blocks  %s", decimal(m.AUCBlocks))
	line("  log-loss    %.4f", float64(m.LogLoss))
	if lift := float64(m.LiftAt["0.1"]); s.stage.Spec.Schema.Positive >= 0 && !math.IsNaN(lift) {
		line("  the tenth with the highest propensity holds %s of all “%s”: %s as many as a tenth picked at random",
			page.Percent(evaluate.Number(lift/10)),
			s.config.Record.Label.Positive, page.Times(evaluate.Number(lift)))
	}
	if len(best) > 0 {
		line("")
		line("strongest profiles (looked for in four fifths of all records, measured on the rest; intervals hold for all " +
			"at once)")
		if (page.Profiles{Best: best}).Confirmed() == 0 {
			line("  none is confirmed: on records held back each of these could be chance")
		}
		best = best[:min(5, len(best))]
		for _, x := range best {
			line("  %s", s.profile(x))
		}
		if note := (page.Profiles{Best: best}).IntervalNote(); note != "" {
			line("  %s", note)
		}
	}
	if len(l.Best) > 0 {
		line("")
		line("first to call")
		for _, r := range l.Best[:min(5, len(l.Best))] {
			line("  %s", s.call(r))
		}
	}
	line("")
	line("where things are")
	line("  topics         %s, in %s", strings.Join([]string{t.Events, t.Scores, t.Dead, t.State, t.Model}, " "),
		filepath.Join(s.Dir, "broker"))
	line("  configuration  %s", s.configFile)
	line("  records        %s", s.recordsFile)
	line("")
	line("look further")
	line("  liftstream tail -c %s --from start -n 5", cluster.Quote(s.configFile))
	line("  liftstream topics describe -c %s", cluster.Quote(s.configFile))
	_, err = io.WriteString(s.app.Out, b.String())
	return err
}

func none(n int) string {
	if n == 0 {
		return "none"
	}
	return page.Count(int64(n))
}

func decimal(v evaluate.Number) string {
	if math.IsNaN(float64(v)) {
		return "-"
	}
	return strconv.FormatFloat(float64(v), 'f', 4, 64)
}
