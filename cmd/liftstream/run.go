package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"liftstream/stream/committed"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/stream"
	"liftstream/stream/operator"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

func runCommand(a *app) *cobra.Command {
	var file, initial string
	var format int
	c := a.command(groupLive, "run -c FILE [--model MODEL] [--instance NAME] [--format N]", `Score the events topic, until SIGTERM
Reads events, scores them, learns from their labels, and writes scores, dead letters, state and models, each exactly
once for readers that read committed. Start it as often as there are partitions to share. On SIGTERM it stops reading,
commits what it has processed, writes a last snapshot and leaves the group within shutdown.grace; the exit status is
then 0. It is 1 when the configuration or the topics are wrong, or more of the newest rows were bad than
policy.dead_share allows, and 3 when the brokers refuse the connection, as for a wrong password, or were away for
five minutes, at the start or later: starting it again may then help. What is waited for is on /readyz and in the log.

http.listen serves a page for people at /, its data at /api/live, and /healthz, /readyz and /metrics. --model gives the
model that serves from the first record on until one is published, as 'liftstream fit --model' writes it; give it to every
process of the group. Where the model topic holds a model already, it is not needed. Of 'fit --as-of end' its short
half-lives go on from the last records of the files. Of 'fit' alone they begin with the counts of all records, and turn
to the stream as these fade: with n records in the files and a half-life of h, after some h log2(n/h) labelled ones.

--instance names this process among those of the group, as the name of a pod that keeps it over its restarts does. What
a killed process of that name left in the group is then evicted at the start, instead of keeping its partitions until
its session of 10 s ends. No two processes may have the same name at a time.

Builds of two versions may run in one group: all of them write what all of them read, and a newer format only once all
have read it for five minutes. To go back to a build that reads no later format than N, start this one with --format N,
stop it, and start the other one; the state is kept. 'liftstream version' prints the newest one of a build.

With kafka: {embedded: {dir: DIR}} a broker runs inside the process and the topics are made. Commands on the same DIR
share that broker; when the process that runs it ends, another one that still runs takes it over.`,
		`liftstream run -c cmd/liftstream/examples/live.yaml`, needs(0, 0, ""),
		func(ctx context.Context, _ []string) error { return a.run(ctx, file, initial, format) })
	configFlag(c, &file)
	c.Flags().StringVarP(&initial, "model", "m", "", "serve the model `FILE` until one is published")
	c.Flags().StringVar(&a.instance, "instance", "", "the `NAME` of this process, its alone, over restarts")
	c.Flags().IntVar(&format, "format", 0, "write states and models in format `N` at most, for a build that reads no later one; 0 = what all members read")
	return c
}

func (a *app) run(ctx context.Context, file, initial string, format int) error {
	if format < 0 || format > state.Format {
		return usagef("--format %d: this build writes formats 1 to %d; 0 is what all members read", format, state.Format)
	}
	c, err := a.load(file)
	if err != nil {
		return err
	}
	st, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var m *model.Model
	if initial != "" {
		if m, err = readModel(initial, st.Spec.Schema); err != nil {
			return err
		}
	}
	log := a.logger()
	defer func() { _ = log.Sync() }()
	k, err := a.cluster(c)
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.Check(ctx); ctx.Err() != nil {
		return ctx.Err()
	} else if kind := txn.KindOf(err); kind == txn.Environment || kind == txn.Unknown {
		log.Warn("no broker answers yet; waiting", zap.Error(unreachable(err, c))) // the stage does, and says so on /readyz
	} else if err != nil {
		return unreachable(err, c)
	}
	if k.broker != nil {
		if _, err := k.CreateTopics(ctx, specsOf(c)...); err != nil {
			return explain(err, file)
		}
		log.Info("the embedded broker runs", zap.String("address", k.address), zap.String("dir", c.Kafka.Embedded.Dir))
	}
	l := newLive(c, st, k, log, m, 0, format)
	s, err := l.serve(false)
	if err != nil {
		return err
	}
	defer s.close()
	log.Info("serving", zap.String("page", "http://"+s.addr+"/"))
	if err := l.run(ctx); err != nil {
		return explain(err, file)
	}
	log.Info("stopped")
	return nil
}

// live is a stage with what shows it: the board, the page, the metrics.
type live struct {
	config  *config.Config
	log     *zap.Logger
	stage   *stream.Stage
	board   *page.Board
	source  *page.Source
	metrics *prometheus.Registry
}

// newLive prepares a stage of which nothing runs yet. initial may be nil. The quality on the page leaves out the first
// skip records of each partition. format bounds that of what is written, 0 = not.
func newLive(c *config.Config, st *assemble.Stage, k *cluster, log *zap.Logger, initial *model.Model, skip, format int) *live {
	l := &live{config: c, log: log, board: page.NewBoard(st.Spec.Schema, skip), metrics: prometheus.NewRegistry()}
	l.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	rebuild := func(r config.Reaction) committed.Reaction { return r == config.ReactionRebuild }
	l.stage = stream.New(stream.Options{
		Name: c.Name, Spec: st.Spec, Codec: st.Codec, Client: k.Client, Topics: topicsOf(c),
		Commit:   c.Commit.Interval.Std(),
		Snapshot: c.Snapshot.Interval.Std(), SnapshotRate: int64(c.Snapshot.BytesPerSecond), SnapshotShare: c.Snapshot.Share,
		InFlight: int64(c.Memory.InFlight), Grace: c.Shutdown.Grace.Std(),
		FitEvery: c.Fit.Every.Std(), FitRecords: c.Fit.Records, FitBudget: c.Fit.Budget.Std(),
		Policies: committed.Policies{InputLost: rebuild(c.Policy.InputLost), TopicRecreated: rebuild(c.Policy.TopicRecreated),
			SchemaChanged: rebuild(c.Policy.SchemaChanged)},
		DeadShare: c.Policy.DeadShare, Under: st.Under, Format: format,
		Instance: k.instance, Initial: initial, Log: log, Metrics: stream.NewMetrics(l.metrics), Now: time.Now, OnScores: l.board.Scores,
	})
	t := &c.Topics
	l.source = &page.Source{Name: c.Name, Positive: c.Record.Label.Positive, Board: l.board, Places: []page.Place{
		{What: "brokers", Name: k.address}, {What: "events", Name: t.Events}, {What: "scores", Name: t.Scores}, {What: "rejected", Name: t.Dead}}}
	l.source.Status, l.source.Profiles = l.stage.Status, profiles(st.Spec, l.stage.Serving)
	l.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "liftstream", Name: "ready",
		Help: "1 while /readyz says so, 0 while it names what is waited for, such as brokers that are away; the other figures then stand still."}, func() float64 {
		if l.stage.Status().Ready {
			return 1
		}
		return 0
	}))
	return l
}

// serve starts the endpoint; free lets it take another port when its own is taken.
func (l *live) serve(free bool) (*server, error) {
	mux := operator.Handler(l.source.Status, l.metrics)
	page.Register(mux, l.source)
	return serve(l.config.HTTP.Listen, free, guard(l.config.HTTP.Token.Reveal(), http.Handler(mux)), l.log)
}

func (l *live) run(ctx context.Context) error { return l.stage.Run(ctx) }

// shownProfiles bounds the profiles on the page.
const shownProfiles = 8

// profiles returns a function that tells the strongest profiles of the serving model, those of the positive class where
// there is one. It decodes each version once.
func profiles(spec *model.Spec, serving func() *model.Model) func() page.Profiles {
	var mu sync.Mutex
	var last page.Profiles
	return func() page.Profiles {
		m := serving()
		mu.Lock()
		defer mu.Unlock()
		if m == nil || m.Version == last.Model {
			return last
		}
		p, err := strongest(spec.Schema, m)
		if err != nil {
			return last
		}
		last = page.Profiles{Model: m.Version, Best: p, Features: shortList(spec.Schema, m)}
		return last
	}
}

// shortList names the features of the model's kernel, heaviest first; none without a kernel that can be read.
func shortList(s *model.Schema, m *model.Model) (names []string) {
	raw, ok := m.Parts[kernel.Name]
	if !ok {
		return nil
	}
	part, err := kernel.DecodePart(s, raw)
	if err != nil {
		return nil
	}
	for _, f := range part.ShortList() {
		names = append(names, s.Features[f].Name)
	}
	return names
}

// strongest returns the profiles to show, those of the positive class where there is one: the confirmed ones first,
// each kind in the order of the model, which does not look at the records that validate.
func strongest(s *model.Schema, m *model.Model) ([]page.Profile, error) {
	raw, ok := m.Parts["lift"]
	if !ok {
		return nil, errors.New("the model has no lift part")
	}
	part, err := lift.DecodePart(s, raw)
	if err != nil {
		return nil, fmt.Errorf("reading the lift part of model %d: %w", m.Version, err)
	}
	var out []page.Profile
	for _, p := range part.Profiles {
		if s.Positive >= 0 && int(p.Class) != s.Positive {
			continue
		}
		low, high := p.ValidatedInterval()
		x := page.Profile{Class: s.Classes[p.Class], Text: p.Text, Confirmed: p.Confirmed(), Lift: evaluate.Number(p.Tally.Lift()),
			Validated: evaluate.Number(math.NaN()), ValidatedLow: evaluate.Number(low), ValidatedHigh: evaluate.Number(high),
			Records: p.Tally.NX, Positives: p.Tally.NXY}
		if p.Validation.NX > 0 {
			x.Validated = evaluate.Number(p.Validation.Lift())
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b page.Profile) int { return cmp.Compare(rank(a.Confirmed), rank(b.Confirmed)) })
	return out[:min(len(out), shownProfiles)], nil
}
