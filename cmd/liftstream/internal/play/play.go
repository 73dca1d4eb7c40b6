// Package play runs the demonstration: a broker inside this process, the shipped records as live events, the stage that
// scores them, its page, and the story of it on a terminal. Begin at Demonstration.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/cmd/liftstream/internal/live"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/stream/txn"
)

// Demonstration holds the flags of demo.
type Demonstration struct {
	Data, Dir, Listen string
	Rate              float64 // records a second; 0 = as fast as it goes
	Once              bool    // ends after the data
	AnyPort           bool    // another port will do when the one of Listen is taken
	QuietLog          bool    // the log holds errors alone
}

// Run plays until the data are scored, and longer unless Once.
func (d *Demonstration) Run(ctx context.Context, a *cli.App) error {
	set := demo.Find(d.Data)
	if set == nil {
		return cli.Usagef("--data %s: it is one of %s", d.Data, strings.Join(demo.Names(), ", "))
	}
	if !(d.Rate >= 0) {
		return cli.Usagef("--rate %v: it is a number of records a second, 0 for as fast as it goes", d.Rate)
	}
	if err := cli.Address("listen", d.Listen); err != nil {
		return err
	}
	s := &run{Demonstration: d, app: a, set: set}
	if err := s.lay(); err != nil {
		return err
	}
	var err error
	if s.stage, err = assemble.Load(a.Load, s.configFile); err != nil {
		return err
	}
	s.config = s.stage.Config
	k, err := cluster.Connect(ctx, s.config)
	if err != nil {
		return err
	}
	defer k.Close()
	if !k.Own() {
		return cli.Environment(fmt.Errorf("another process runs on %s already, with its broker at %s: end it, "+
			"or give --dir another directory", d.Dir, k.Address))
	}
	s.cluster = k
	err = s.play(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && !d.Once {
		return nil // how it is meant to end
	}
	return cluster.Explain(err, s.configFile)
}

// run is one run of the demonstration.
type run struct {
	*Demonstration
	app                     *cli.App
	set                     *demo.Set
	configFile, recordsFile string
	config                  *config.Config
	stage                   *assemble.Stage
	cluster                 *cluster.Cluster
	live                    *live.Live
	sent                    int // records in the topic before this run
	pace                    pace
}

// lay writes the files of the set into the directory.
func (s *run) lay() error {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return cli.Environment(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cli.Environment(fmt.Errorf("making the directory of the demonstration: %w", err))
	}
	text, err := s.set.Config(filepath.Join(dir, "broker"), s.Listen)
	if err != nil {
		return err
	}
	credit, err := demo.Credit()
	if err != nil {
		return err
	}
	// Shown as the user gave it.
	s.configFile = filepath.Join(s.Dir, s.set.Name+".yaml")
	s.recordsFile = filepath.Join(s.Dir, s.set.Name+".csv")
	plain := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(b); return err }
	}
	return errors.Join(s.app.WriteFile(s.configFile, plain(text)), s.app.WriteFile(filepath.Join(s.Dir, "SOURCES.md"),
		plain(credit)),
		s.app.WriteFile(s.recordsFile, s.set.WriteRecords))
}

// play runs feeder, stage and page until the data are scored, and longer unless once.
func (s *run) play(ctx context.Context) error {
	k := s.cluster
	if _, err := k.CreateTopics(ctx, cluster.Specs(s.config)...); err != nil {
		return err
	}
	logs := *s.app
	if s.QuietLog {
		logs.LogLevel = "error"
	}
	log := logs.Logger()
	defer func() { _ = log.Sync() }()
	l := live.New(s.config, s.stage, k, live.Options{Log: log, Skip: s.set.Skip})
	s.live = l
	before, err := demo.Read(ctx, k.Client, s.topics(), s.stage.Codec, demo.Watch{Scores: l.Board.Restore})
	if err != nil {
		return err
	}
	s.sent = before.Position
	l.Source.Notes = append([]string{s.set.Title}, s.set.Notes...)
	l.Source.Places = append(l.Source.Places, page.Place{What: "topics on disk", Name: s.config.Kafka.Embedded.Dir},
		page.Place{What: "configuration", Name: s.configFile})
	web, err := l.Serve(s.AnyPort)
	if err != nil {
		return err
	}
	defer web.Close()

	s.app.Notef("%s", s.set.Title)
	for _, n := range s.set.Notes {
		s.app.Notef("  %s", n)
	}
	s.app.Notef("  page http://%s/   broker %s   files in %s", web.Addr(), k.Address, s.Dir)
	if s.sent > 0 {
		s.app.Notef("  going on: %s records were sent before, %s of them scored", page.Count(int64(s.sent)),
			page.Count(int64(before.Scored)))
	}

	// The stage outlives the feeder, whose context ends with the first failure.
	stageCtx, stopStage := context.WithCancel(ctx)
	defer stopStage()
	stage := make(chan error, 1)
	go func() { stage <- l.Stage.Run(stageCtx) }()
	feedCtx, stopFeed := context.WithCancel(ctx)
	feeder := make(chan error, 1)
	go func() { feeder <- s.feed(feedCtx) }()

	err = s.watch(ctx, feeder, stage)
	stopFeed()
	if err == nil {
		err = s.final(ctx, web.Addr())
	}
	if err == nil && !s.Once {
		s.app.Notef("The page stays at http://%s/ until you interrupt this.", web.Addr())
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
		s.app.Notef("stopped; the same command goes on from here")
	}
	return err
}

// feed sends the records that the events topic does not hold yet. Each message tells how many records of the data the
// topic holds with it, so the next run finds its place in the topic itself.
func (s *run) feed(ctx context.Context) error {
	r, err := file.OpenTables([]string{s.recordsFile}, file.TableOptions{Codec: s.stage.Codec, Rows: s.set.Batch})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	out := cluster.NewSender(s.cluster.Client, cluster.Sending{Topic: s.config.Topics.Events, Partitions: 1,
		Batch: s.set.Batch, Rate: s.Rate})
	at := 0
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.Flush(ctx)
		}
		if err != nil {
			return err
		}
		rows := cluster.UpTo(t.Rows())
		skip := min(max(s.sent-at, 0), len(rows))
		at += len(rows)
		if rows = rows[skip:]; len(rows) == 0 {
			continue
		}
		out.Mark = txn.Header{Key: demo.PositionHeader, Value: strconv.AppendInt(nil, int64(at), 10)}
		if err := out.Message(ctx, t, t.Column(s.config.Record.ID), 0, rows); err != nil {
			return err
		}
	}
}

func (s *run) topics() demo.Topics {
	t := &s.config.Topics
	return demo.Topics{Events: t.Events, Scores: t.Scores, Dead: t.Dead}
}

// watch tells how far it is until all records are sent and scored.
func (s *run) watch(ctx context.Context, feeder, stage chan error) error {
	screen := s.newScreen()
	defer screen.end()
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
			st := s.live.Stage.Status()
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
func (s *run) ends(ctx context.Context) (map[int]int64, error) {
	topic := s.config.Topics.Events
	n, err := s.cluster.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	return s.cluster.ListOffsets(ctx, topic, cluster.UpTo(n), txn.End)
}
