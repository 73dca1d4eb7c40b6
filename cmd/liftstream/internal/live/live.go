// Package live is a running stage with the page that shows it: the stage of a configuration, its metrics, and the
// endpoint for operators and readers of the page. Begin at New.
package live

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/infer"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/groups"
	"liftstream/stream"
	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/operator"
	"liftstream/stream/state"
)

// Live is a stage with its page and its metrics.
type Live struct {
	Stage  *stream.Stage
	Board  *page.Board
	Source *page.Source

	config  *config.Config
	log     *zap.Logger
	metrics *prometheus.Registry
	infer   *infer.Service // nil = http.score is off
	level   zap.AtomicLevel
}

// Options of a Live.
type Options struct {
	Log     *zap.Logger
	Initial *model.Model // serves until one is published; may be nil
	Skip    int          // first records of each partition that the quality on the page leaves out
	Format  int          // newest format that is written; 0 = every member's
	Version string       // of the build, which GET /v2 tells
	// Level is that of Log, which a request may set; the zero value = none may.
	Level zap.AtomicLevel
	// Tracer makes spans of transactions; nil = none.
	Tracer trace.Tracer
}

var moved = map[config.OffsetReaction]committed.OffsetReaction{config.OffsetFail: committed.OffsetFail,
	config.OffsetSkip: committed.OffsetSkip, config.OffsetRescore: committed.OffsetRescore}

var letterHeaders = map[config.DeadHeaders]deadletter.Headers{config.DeadHeadersConnect: deadletter.HeadersConnect,
	config.DeadHeadersStreams: deadletter.HeadersStreams}

// policies are the reactions of a configuration.
func policies(p *config.Policy) committed.Policies {
	rebuild := func(r config.Reaction) committed.Reaction { return r == config.ReactionRebuild }
	return committed.Policies{InputLost: rebuild(p.InputLost), TopicRecreated: rebuild(p.TopicRecreated),
		SchemaChanged: rebuild(p.SchemaChanged), ModelLost: rebuild(p.ModelLost), OffsetMoved: moved[p.OffsetMoved],
		TopicShared: p.TopicShared == config.SharedAccept}
}

// New prepares a stage; nothing runs yet.
func New(c *config.Config, st *assemble.Stage, k *cluster.Cluster, o Options) *Live {
	l := &Live{config: c, log: o.Log, Board: page.NewBoard(st.Spec.Schema, o.Skip), metrics: prometheus.NewRegistry()}
	l.level = o.Level
	if l.Board.Groups = groups.NewTally(st.Spec.Schema, st.Segments, c.MinCount); l.Board.Groups != nil {
		l.metrics.MustRegister(newGroupMetrics(l.Board.Groups))
	}
	if l.Board.Goals = page.NewGoalTally(st.GoalNames()); l.Board.Goals != nil {
		l.metrics.MustRegister(newGoalMetrics(l.Board.Goals))
	}
	l.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector())
	so := l.options(st, k, o)
	l.Stage = stream.New(so)
	l.metrics.MustRegister(stream.Collector(l.Stage))
	l.infer = l.inference(st, o.Version)
	registerRegistry(l.metrics, st.Registry)
	t := &c.Topics
	l.Source = &page.Source{Name: c.Name, Positive: c.Record.Label.Positive, Board: l.Board, Places: []page.Place{
		{What: "brokers", Name: k.Address}, {What: "events", Name: t.Events}, {What: "scores", Name: t.Scores},
		{What: "rejected", Name: t.Dead}}}
	l.Source.Status, l.Source.Profiles = l.Stage.Status, profiles(st, l.Stage.Serving)
	b := &book{stage: st, serving: l.Stage.Serving}
	l.Source.Curves, l.Source.Model = b.curves, b.page
	l.Source.Flow = flow(so.Metrics, time.Now)
	l.Source.Verdicts = func() []*state.GateVerdict { return stream.Verdicts(l.Stage) }
	l.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "liftstream", Name: "ready",
		Help: "1 while /readyz says so, 0 while it names what is waited for, such as brokers that are away; the other " +
			"figures then stand still."}, func() float64 {
		if l.Stage.Status().Ready {
			return 1
		}
		return 0
	}))
	return l
}

// options are those of the stage.
func (l *Live) options(st *assemble.Stage, k *cluster.Cluster, o Options) stream.Options {
	c := l.config
	return stream.Options{
		Name: c.Name, Spec: st.Spec, Codec: st.Codec, Client: k.Client, Topics: cluster.Topics(c),
		Commit:   c.Commit.Interval.Std(),
		Snapshot: c.Snapshot.Interval.Std(), SnapshotRate: int64(c.Snapshot.BytesPerSecond), SnapshotShare: c.Snapshot.Share,
		InFlight: int64(c.Memory.InFlight), Grace: c.Shutdown.Grace.Std(),
		FitEvery: c.Fit.Every.Std(), FitRecords: c.Fit.Records, EarlyFits: c.Fit.Early, FitBudget: c.Fit.Budget.Std(),
		Keep:      state.Keep{Versions: c.Fit.Keep.Versions, Bytes: int64(c.Fit.Keep.Bytes)},
		Policies:  policies(&c.Policy),
		DeadShare: c.Policy.DeadShare, DeadHeaders: letterHeaders[c.Dead.Headers],
		Held: c.Policy.Held.Std(), Under: st.Under, Format: o.Format,
		Replication: c.Topics.Replication, LearningOff: c.Learning == config.LearningOff,
		Instance: k.Instance, Initial: o.Initial, Tracer: o.Tracer,
		Log: o.Log, Metrics: stream.NewMetrics(l.metrics), Now: time.Now,
		OnScores: l.Board.Scores, Lacks: lacks(st.Registry), Before: before(st), CloudEvents: contentType(&c.Output),
	}
}

// Serve starts the endpoint; free lets it take another port when its own is taken.
func (l *Live) Serve(free bool) (*Server, error) {
	mux := operator.Handler(l.Source.Status, l.metrics)
	end := page.Register(mux, l.Source)
	if l.infer != nil {
		l.infer.Register(mux)
	}
	debug(mux, l.config.HTTP.Token.Reveal(), l.level, l.log)
	h := &l.config.HTTP
	s, err := serve(h.Listen, free, door(h.Listen, h.Hosts, guard(h.Token.Reveal(), mux)), l.log)
	if err != nil {
		return nil, err
	}
	s.http.RegisterOnShutdown(end) // a stream of the page is a request under way that never ends by itself
	return s, nil
}
