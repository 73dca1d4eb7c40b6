package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/stream/txn"
)

type demonstration struct {
	data, dir, listen string
	rate              float64
	once              bool
	anyPort           bool // --listen was not given: another port will do when it is taken
	quietLog          bool // --log-level was not given: only what ends it
}

func demoCommand(a *app) *cobra.Command {
	var d demonstration
	c := a.command(groupLive, "demo [--data bank|votes] [--dir DIR] [--listen ADDR] [--rate R] [--once]", `Show everything, with nothing else installed
Starts a Kafka broker inside this process, sends a shipped data set to it as live events, scores them as they come, and
shows on a page and in this terminal how many were scored, how good the scores are, which profiles are strongest, and
whom to call first. It ends with the final figures, read back from the topics.

Every record is scored before it is learnt; the figures leave out the first 1,000 (100 of the votes), for which nothing
is known yet. Topics, the records as CSV and the configuration lie in DIR. Interrupt it, or kill it, at any time: the same
command goes on where it was, and no record is sent, scored or learnt twice. --once ends after the data; otherwise the
page stays until the command is interrupted.`,
		`liftstream demo --once`, needs(0, 0, ""), nil)
	c.RunE = a.command(groupLive, "demo", "", "", nil, func(ctx context.Context, _ []string) error {
		d.anyPort = !c.Flags().Changed("listen")
		d.quietLog = !c.Flags().Changed("log-level")
		return d.run(ctx, a)
	}).RunE
	f := c.Flags()
	f.StringVar(&d.data, "data", "bank", "show `SET`: "+strings.Join(demo.Names(), " or "))
	f.StringVar(&d.dir, "dir", "liftstream-data", "keep topics and files in `DIR`, which is made when missing")
	f.StringVar(&d.listen, "listen", "127.0.0.1:8080", "serve the page at `ADDR`; without the flag any free port when that one is taken")
	f.Float64Var(&d.rate, "rate", 5000, "send `R` records a second; 0 = as fast as it goes")
	f.BoolVar(&d.once, "once", false, "end after the data")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (d *demonstration) run(ctx context.Context, a *app) error {
	set := demo.Find(d.data)
	if set == nil {
		return usagef("--data %s: it is one of %s", d.data, strings.Join(demo.Names(), ", "))
	}
	if !(d.rate >= 0) {
		return usagef("--rate %v: it is a number of records a second, 0 for as fast as it goes", d.rate)
	}
	if err := address("listen", d.listen); err != nil {
		return err
	}
	s := &show{app: a, demonstration: d, set: set, now: time.Now}
	if err := s.lay(); err != nil {
		return err
	}
	c, err := a.load(s.configFile)
	if err != nil {
		return err
	}
	s.config = c
	if s.stage, err = assemble.New(c); err != nil {
		return fmt.Errorf("%s: %w", s.configFile, err)
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	if k.broker == nil {
		return environment(fmt.Errorf("another process runs on %s already, with its broker at %s: end it, or give --dir another directory", d.dir, k.address))
	}
	s.cluster = k
	err = s.play(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && !d.once {
		return nil // how it is meant to end
	}
	return explain(err, s.configFile)
}

// show is one run of the demonstration.
type show struct {
	*app
	*demonstration
	set                     *demo.Set
	configFile, recordsFile string
	config                  *config.Config
	stage                   *assemble.Stage
	cluster                 *cluster
	live                    *live
	sent                    int // records in the topic before this run
	pace                    pace
	now                     func() time.Time
}

// lay writes the files of the set into the directory.
func (s *show) lay() error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return environment(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return environment(fmt.Errorf("making the directory of the demonstration: %w", err))
	}
	text, err := s.set.Config(filepath.Join(dir, "broker"), s.listen)
	if err != nil {
		return err
	}
	credit, err := demo.Credit()
	if err != nil {
		return err
	}
	// Shown as the user gave it.
	s.configFile = filepath.Join(s.dir, s.set.Name+".yaml")
	s.recordsFile = filepath.Join(s.dir, s.set.Name+".csv")
	plain := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(b); return err }
	}
	return errors.Join(s.writeFile(s.configFile, plain(text)), s.writeFile(filepath.Join(s.dir, "SOURCES.md"), plain(credit)),
		s.writeFile(s.recordsFile, s.set.WriteRecords))
}

// play runs feeder, stage and page until the data are scored, and longer unless once.
func (s *show) play(ctx context.Context) error {
	k := s.cluster
	if _, err := k.CreateTopics(ctx, specsOf(s.config)...); err != nil {
		return err
	}
	logs := *s.app
	if s.quietLog {
		logs.logLevel = "error"
	}
	log := logs.logger()
	defer func() { _ = log.Sync() }()
	l := newLive(s.config, s.stage, k, log, nil, s.set.Skip, 0)
	s.live = l
	before, err := demo.Read(ctx, k.Client, s.topics(), s.stage.Codec, demo.Watch{Scores: l.board.Restore})
	if err != nil {
		return err
	}
	s.sent = before.Position
	l.source.Notes = append([]string{s.set.Title}, s.set.Notes...)
	l.source.Places = append(l.source.Places, page.Place{What: "topics on disk", Name: s.config.Kafka.Embedded.Dir}, page.Place{What: "configuration", Name: s.configFile})
	web, err := l.serve(s.anyPort)
	if err != nil {
		return err
	}
	defer web.close()

	s.notef("%s", s.set.Title)
	for _, n := range s.set.Notes {
		s.notef("  %s", n)
	}
	s.notef("  page http://%s/   broker %s   files in %s", web.addr, k.address, s.dir)
	if s.sent > 0 {
		s.notef("  going on: %s records were sent before, %s of them scored", page.Count(int64(s.sent)), page.Count(int64(before.Scored)))
	}

	// The stage outlives the feeder, whose context ends with the first failure.
	stageCtx, stopStage := context.WithCancel(ctx)
	defer stopStage()
	stage := make(chan error, 1)
	go func() { stage <- l.run(stageCtx) }()
	feedCtx, stopFeed := context.WithCancel(ctx)
	feeder := make(chan error, 1)
	go func() { feeder <- s.feed(feedCtx) }()

	err = s.watch(ctx, feeder, stage)
	stopFeed()
	if err == nil {
		err = s.final(ctx, web.addr)
	}
	if err == nil && !s.once {
		s.notef("The page stays at http://%s/ until you interrupt this.", web.addr)
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case err = <-stage:
			stage <- nil
		}
	}
	stopStage()
	if ending := <-stage; ending != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = ending
	}
	if errors.Is(err, context.Canceled) {
		s.notef("stopped; the same command goes on from here")
	}
	return err
}

// feed sends what the events topic does not hold yet. Each message says how many records of the data the topic holds
// with it, so wherever a run ends, the next one finds its place in the topic itself.
func (s *show) feed(ctx context.Context) error {
	r, err := file.OpenTables([]string{s.recordsFile}, file.TableOptions{Codec: s.stage.Codec, Rows: s.set.Batch})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	out := &sender{client: s.cluster.Client, topic: s.config.Topics.Events, partitions: 1, batch: s.set.Batch, rate: s.rate,
		encoder: codec.NewEventEncoder(), now: s.now}
	at := 0
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.flush(ctx)
		}
		if err != nil {
			return err
		}
		rows := upTo(t.Rows())
		skip := min(max(s.sent-at, 0), len(rows))
		at += len(rows)
		if rows = rows[skip:]; len(rows) == 0 {
			continue
		}
		out.mark = txn.Header{Key: demo.PositionHeader, Value: strconv.AppendInt(nil, int64(at), 10)}
		if err := out.message(ctx, t, t.Column(s.config.Record.ID), 0, rows); err != nil {
			return err
		}
	}
}

func (s *show) topics() demo.Topics {
	t := &s.config.Topics
	return demo.Topics{Events: t.Events, Scores: t.Scores, Dead: t.Dead}
}

// watch tells how far it is until all records are sent and scored.
func (s *show) watch(ctx context.Context, feeder, stage chan error) error {
	screen := s.newScreen()
	defer screen.done()
	tick := time.NewTicker(screen.every)
	defer tick.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	var ends map[int]int64
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-stage:
			stage <- nil
			if err == nil {
				err = ctx.Err()
			}
			return err
		case err := <-feeder:
			if err != nil {
				return err
			}
			if ends, err = s.ends(ctx); err != nil {
				return err
			}
		case <-look.C:
			st := s.live.stage.Status()
			read := ends != nil && len(st.Partitions) == len(ends)
			for _, p := range st.Partitions {
				read = read && p.Offset >= ends[int(p.Partition)]
			}
			if read {
				screen.show(s.story())
				return nil
			}
		case <-tick.C:
			screen.show(s.story())
		}
	}
}

// ends are the offsets after the last message of each partition of events.
func (s *show) ends(ctx context.Context) (map[int]int64, error) {
	topic := s.config.Topics.Events
	n, err := s.cluster.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	return s.cluster.ListOffsets(ctx, topic, upTo(n), txn.End)
}

// story is how far it is, in a few lines.
func (s *show) story() []string {
	v := s.live.source.Live()
	lines := []string{fmt.Sprintf("scored %s of %s", page.Count(int64(v.Scored)), page.Count(int64(s.set.Records)))}
	if rate := s.pace.rate(s.now(), v.Scored); rate > 0 {
		lines[0] += fmt.Sprintf(" (%s a second)", page.Count(int64(rate)))
	}
	switch {
	case !v.Ready && v.Scored == 0 && len(v.Waiting) > 0:
		lines[0] += ": " + strings.Join(v.Waiting, "; ")
	case v.Quality.Records > 0:
		lines = append(lines, s.quality(&v))
	}
	switch {
	case v.Profiles.Confirmed() > 0:
		lines = append(lines, "strongest: "+s.profile(v.Profiles.Best[0]))
	case len(v.Profiles.Best) > 0:
		lines = append(lines, "strongest: no profile is confirmed yet on records held back from the search")
	}
	if len(v.Calls) > 0 {
		lines = append(lines, "first to call: "+s.call(v.Calls[0]))
	}
	return lines
}

// pace measures records a second between two looks.
type pace struct {
	when   time.Time
	scored uint64
	last   float64
}

func (p *pace) rate(now time.Time, scored uint64) float64 {
	const least = 200 * time.Millisecond // a shorter time says too little
	if d := now.Sub(p.when); d >= least {
		if p.last = 0; !p.when.IsZero() {
			p.last = float64(scored-p.scored) / d.Seconds()
		}
		p.when, p.scored = now, scored
	}
	return p.last
}

func (s *show) quality(v *page.Live) string {
	q := v.Quality
	if v.Positive == "" {
		return fmt.Sprintf("of two %ss of different classes it tells which is which %s of the time", s.set.Who, page.Percent(q.AUC))
	}
	text := fmt.Sprintf("of a “%s” and another %s it ranks the “%s” higher %s of the time", v.Positive, s.set.Who, v.Positive, page.Percent(q.AUC))
	if !math.IsNaN(float64(q.Capture)) {
		text += fmt.Sprintf(", the best tenth holds %s of all “%s”", page.Percent(q.Capture), v.Positive)
	}
	return text
}

// profile writes a profile: "job=student: 2.4 times as often “yes” as on average on records held back (95 %: 2.1 to
// 2.8)".
func (s *show) profile(p page.Profile) string {
	number := func(v evaluate.Number) string { return strings.TrimSuffix(page.Times(v), " times") }
	if math.IsNaN(float64(p.Validated)) {
		return fmt.Sprintf("%s: %s as often “%s” as on average where it was found, not among records held back", p.Text, page.Times(p.Lift), p.Class)
	}
	text := fmt.Sprintf("%s: %s as often “%s” as on average on records held back (95 %%: %s to %s)", p.Text, page.Times(p.Validated), p.Class,
		number(p.ValidatedLow), number(p.ValidatedHigh))
	if !p.Confirmed {
		text += ", not confirmed"
	}
	return text
}

// call writes a record of the call list.
func (s *show) call(r page.Record) string {
	var because []string
	for _, w := range r.Why {
		if w.Effect > 0 && len(because) < 3 {
			because = append(because, w.String())
		}
	}
	text := fmt.Sprintf("%s %s, %s “%s”, %s the average", s.set.Who, r.Who, page.Percent(evaluate.Number(r.Propensity)), r.Target, page.Times(evaluate.Number(r.Lift)))
	if len(because) > 0 {
		text += ": " + strings.Join(because, ", ")
	}
	return text
}

// final writes the figures as the topics give them.
func (s *show) final(ctx context.Context, web string) error {
	t := topicsOf(s.config)
	builder := model.NewBuilder(s.stage.Spec)
	l, err := demo.Read(ctx, s.cluster.Client, s.topics(), s.stage.Codec, demo.Watch{Events: builder.Add})
	if err != nil {
		return err
	}
	exact, err := builder.FitAsOfEnd(ctx)
	if err != nil {
		return err
	}
	best, err := strongest(s.stage.Spec.Schema, exact)
	if err != nil {
		return err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s records sent, %s scored, %s twice, %s not scored, %s rejected", page.Count(int64(l.Events)), page.Count(int64(l.Scored)),
		none(l.Twice+l.Strange), none(l.Missing()), none(l.Dead))
	m := l.Set(s.set.Skip).Metrics(s.stage.Spec.Schema.Positive, 1)
	line("")
	line("how good (each scored before it was learnt; the first %s not counted)", page.Count(int64(s.set.Skip)))
	line("  AUC         %.4f", float64(m.AUC))
	line("  AUC blocks  %s", decimal(m.AUCBlocks))
	line("  log-loss    %.4f", float64(m.LogLoss))
	if lift := float64(m.LiftAt["0.1"]); s.stage.Spec.Schema.Positive >= 0 && !math.IsNaN(lift) {
		line("  the tenth with the highest propensity holds %s of all “%s”: %s as many as a tenth picked at random", page.Percent(evaluate.Number(lift/10)),
			s.config.Record.Label.Positive, page.Times(evaluate.Number(lift)))
	}
	if len(best) > 0 {
		line("")
		line("strongest profiles (looked for in four fifths of all records, measured on the rest; intervals hold for all at once)")
		if (page.Profiles{Best: best}).Confirmed() == 0 {
			line("  none is confirmed: on records held back each of these could be chance")
		}
		for _, x := range best[:min(5, len(best))] {
			line("  %s", s.profile(x))
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
	line("  topics         %s, in %s", strings.Join([]string{t.Events, t.Scores, t.Dead, t.State, t.Model}, " "), filepath.Join(s.dir, "broker"))
	line("  configuration  %s", s.configFile)
	line("  records        %s", s.recordsFile)
	line("")
	line("look further")
	line("  liftstream tail -c %s --from start -n 5", quote(s.configFile))
	line("  liftstream topics describe -c %s", quote(s.configFile))
	_, err = io.WriteString(s.out, b.String())
	return environment(err)
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

// screen shows a few lines: on a terminal in place of those before, else as one line, twice a second at most.
type screen struct {
	w     io.Writer
	fd    int // of the terminal; -1 = none
	every time.Duration
	shown int
	last  []string
}

func (s *show) newScreen() *screen {
	c := &screen{w: s.err, fd: -1, every: time.Second}
	if s.quiet {
		c.w = io.Discard
	}
	if f, ok := s.err.(*os.File); ok && onTerminal(s.err) && !s.quiet {
		c.fd, c.every = int(f.Fd()), 250*time.Millisecond
	}
	return c
}

func (c *screen) show(lines []string) {
	if c.fd < 0 {
		if !slices.Equal(lines, c.last) {
			fmt.Fprintln(c.w, strings.Join(lines, "; "))
		}
		c.last = lines
		return
	}
	width, _, err := term.GetSize(c.fd)
	if err != nil || width < 20 {
		width = 80
	}
	var b strings.Builder
	if c.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", c.shown)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > width-1 {
			l = string([]rune(l)[:width-2]) + "…"
		}
		b.WriteString("\r\x1b[K" + l + "\n")
	}
	for range c.shown - len(lines) {
		b.WriteString("\r\x1b[K\n")
	}
	c.shown = max(c.shown, len(lines))
	_, _ = io.WriteString(c.w, b.String())
}

// done leaves what is shown where it is.
func (c *screen) done() { c.shown = 0 }
