package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/live"
	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

func runCommand(a *cli.App) *cobra.Command {
	var r running
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "run -c FILE [--model MODEL] [--instance NAME] [--format N] [--shadow CHALLENGER]",
		About: `Score the events topic, until SIGTERM
Reads events, scores them, learns from their labels, and writes scores, dead letters, state and models, each exactly
once for readers that read committed. Start it as often as there are partitions to share. On SIGTERM it stops reading,
commits what it has processed, writes a last snapshot and leaves the group within shutdown.grace; the exit status is
then 0. It is 1 when the configuration or the topics are wrong, and 3 when the brokers refuse the connection, as for a
wrong password, or were away for five minutes, at the start or later: starting it again may then help. While it waits,
/readyz and the log say for what. A partition of which more of the newest rows are bad than policy.dead_share allows
pauses until 'liftstream resume'.

http.listen serves a page for people at / and what the model has learnt at /model, their data at /api/live and
/api/record?id=ID, and /healthz, /readyz and /metrics. POST /v1/score and POST /v2/models/NAME/infer answer requests
with the scores of their records, which are not learnt (http.score). With http.token set, /debug/log gives and sets the
level of the log, and /debug/pprof/ has profiles (deploy/RUNBOOK.md).

--model gives the model that serves from the first record on until one is published, as 'liftstream fit --model' writes
it; give it to every process of the group. Where the model topic holds a model already, it is not needed. Of 'fit
--as-of end' its short half-lives go on from the last records of the files. Of 'fit' alone they begin with the counts of
all records, and turn to the stream as these fade: with n records in the files and a half-life of h, after some
h log2(n/h) labelled ones.

--instance names this process in the group; the name of a pod that keeps it over its restarts is one. A killed process
of that name is then evicted from the group at the start, instead of keeping its partitions until its session of 10 s
ends. No two processes may have the same name at a time.

Builds of two versions may run in one group: all of them write what all of them read, and a newer format only once all
have read it for five minutes. To go back to a build that reads no later format than N, start this one with --format N,
stop it, and start the other one; the state is kept. 'liftstream version' prints the newest one of a build.

--shadow starts a second stage of the configuration CHALLENGER beside this one, in a process of its own: another name,
the same topics of events and labels, topics of its own for all else; 'topics create' makes them. 'liftstream compare'
tells which of the two scores better, and 'promote' puts the challenger into the place of this one. Nothing that goes
wrong there reaches this stage: its errors are in the log, it is started again after a pause, and it gets the processor
and the memory that are left over (a nice value of 10, and Linux ends it first where memory runs out). It stops with
this process. Its page is on a free port where http.listen is taken.

OTEL_EXPORTER_OTLP_ENDPOINT, a variable of the environment, names a collector that gets spans of the transactions; there
are none unless it is set.

With kafka: {embedded: {dir: DIR}} a broker runs inside the process and the topics are made. Commands on the same DIR
share that broker; when the process that runs it ends, another one that still runs takes it over.`,
		Example: `liftstream run -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return r.run(ctx, a) },
	})
	cli.ConfigFlag(c, &r.file)
	f := c.Flags()
	f.StringVarP(&r.initial, "model", "m", "", "serve the model `FILE` until one is published")
	f.StringVar(&r.instance, "instance", "", "the `NAME` of this process, its alone, over restarts")
	f.IntVar(&r.format, "format", 0, "write states and models in format `N` at most, for a build that reads no "+
		"later one; 0 = what all members read")
	f.StringVar(&r.shadow, "shadow", "", "run the configuration `CHALLENGER` beside this one, in a process of its own")
	f.StringVar(&r.shadowOf, "shadow-of", "", "this process is the shadow of the stage of `FILE`")
	_ = f.MarkHidden("shadow-of")
	return c
}

// running is a run on the command line.
type running struct {
	file, initial, instance string
	format                  int
	shadow                  string // configuration of a challenger
	shadowOf                string // set in the process of a challenger: the configuration of the first stage
}

func (r *running) run(ctx context.Context, a *cli.App) error {
	if r.format < 0 || r.format > state.Format {
		return cli.Usagef("--format %d: this build writes formats 1 to %d; 0 is what all members read", r.format,
			state.Format)
	}
	if r.shadowOf != "" {
		live.Yield()
		ctx = live.UntilInputEnds(ctx, a.In)
		if _, _, err := beside(a, []string{r.shadowOf, r.file}); err != nil {
			return err
		}
	}
	st, err := assemble.Load(a.Load, r.file)
	if err != nil {
		return err
	}
	c := st.Config
	var m *model.Model
	if r.initial != "" {
		if m, err = fileModel(st, r.initial); err != nil {
			return err
		}
	}
	log := a.Logger()
	if r.shadowOf != "" {
		log = log.With(zap.String("shadow", c.Name))
	}
	defer func() { _ = log.Sync() }()
	k, err := cluster.Open(c, r.instance)
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Check(ctx); ctx.Err() != nil {
		return ctx.Err()
	} else if kind := txn.KindOf(err); kind == txn.Environment || kind == txn.Unknown {
		// the stage does, and says so on /readyz
		log.Warn("no broker answers yet; waiting", zap.Error(cluster.Unreachable(err, c)))
	} else if err != nil {
		return cluster.Unreachable(err, c)
	}
	if c.Kafka.Embedded != nil && (k.Own() || r.shadowOf != "") { // nobody else makes them
		if _, err := k.CreateTopics(ctx, cluster.Specs(c)...); err != nil {
			return cluster.Explain(err, r.file)
		}
	}
	if k.Own() {
		log.Info("the embedded broker runs", zap.String("address", k.Address), zap.String("dir", c.Kafka.Embedded.Dir))
	}
	if room := waitRoom(c, st.Spec); room != "" {
		log.Info(room)
	}
	tracer, flush, err := live.Traces(ctx, c.Name, log)
	if err != nil {
		return err
	}
	defer flush()
	v, _ := build()
	l := live.New(c, st, k, live.Options{Log: log, Level: a.Level, Initial: m, Format: r.format, Tracer: tracer,
		Version: v})
	s, err := l.Serve(r.shadowOf != "")
	if err != nil {
		return err
	}
	defer s.Close()
	log.Info("serving", zap.String("page", "http://"+s.Addr()+"/"))
	if r.shadow != "" {
		defer r.cast(ctx, a, l)()
	}
	if err := l.Stage.Run(ctx); err != nil {
		return cluster.Explain(err, r.file)
	}
	log.Info("stopped")
	return nil
}

// cast starts the shadow, and returns a function that ends it and waits for its end.
func (r *running) cast(ctx context.Context, a *cli.App, l *live.Live) (stop func()) {
	return l.NewShadow(func() *exec.Cmd {
		name, err := os.Executable()
		if err != nil {
			name = os.Args[0]
		}
		args := []string{"run", "-c", r.shadow, "--shadow-of", r.file, "--log-level", a.LogLevel, "--log-format", a.LogForm}
		if r.format > 0 {
			args = append(args, "--format", strconv.Itoa(r.format))
		}
		if r.instance != "" {
			args = append(args, "--instance", r.instance)
		}
		if a.Quiet {
			args = append(args, "--quiet")
		}
		cmd := exec.Command(name, args...)
		cmd.Stdout, cmd.Stderr = a.Err, a.Err
		return cmd
	}).Start(ctx)
}
