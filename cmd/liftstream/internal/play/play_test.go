package play

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/cmd/liftstream/internal/live"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/stream"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

func TestPaceIsThatOfTheLastLook(t *testing.T) {
	var p pace
	for i, c := range []struct {
		at     time.Duration
		scored uint64
		want   float64
	}{{0, 1000, 0}, {199 * time.Millisecond, 5000, 0}, {200 * time.Millisecond, 1100, 500},
		{300 * time.Millisecond, 9000, 500}, {1200 * time.Millisecond, 1350, 250}, {3200 * time.Millisecond, 1350, 0}} {
		if got := p.rate(time.Unix(100, 0).Add(c.at), c.scored); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("look %d: %v records a second, want %v", i, got, c.want)
		}
	}
}

func text(s string) *string { return &s }

func TestSentencesOfTheStory(t *testing.T) {
	s := &run{set: demo.Find("bank")}
	nan := evaluate.Number(math.NaN())
	quality := func(positive string, q page.Quality) string {
		return s.quality(&page.Live{Positive: positive, View: page.View{Quality: q}})
	}
	record := page.Record{Who: "17", Target: "yes", Propensity: .256, BaseRate: .1, Lift: 2.56, Percentile: .9,
		Why: []page.Reason{{Feature: "month", Value: text("may"), Effect: -1}, {Feature: "job", Value: text("student"),
			Effect: .5}, {Feature: "age", Effect: .4}, {Feature: "none", Effect: 0}, {Feature: "(base)", Effect: .3},
			{Feature: "loan", Value: text("no"), Effect: .2}}}
	bare := record
	bare.Why = record.Why[:1]
	for _, c := range []struct{ got, want string }{
		{s.call(record), "customer 17, 25.6 % “yes”, 2.6 times the average: job is student, age is not known, (base)"},
		{s.call(bare), "customer 17, 25.6 % “yes”, 2.6 times the average"},
		{s.profile(page.Profile{Text: "job=student", Class: "yes", Confirmed: true, Lift: 3, Validated: 2.44,
			ValidatedLow: 2.1, ValidatedHigh: 2.8}),
			"job=student: 2.4 times as often “yes” as on average on records held back (95 %: 2.1 to 2.8)"},
		{s.profile(page.Profile{Text: "job=student", Class: "yes", Lift: 3, Validated: 2.44, ValidatedLow: .9,
			ValidatedHigh: 2.8}), "job=student: 2.4 times as often “yes” as on average on records held back (95 %: 0.9 to " +
			"2.8), not confirmed"},
		{s.profile(page.Profile{Text: "job=student", Class: "yes", Lift: 3, Validated: nan, ValidatedLow: nan,
			ValidatedHigh: nan}), "job=student: 3.0 times as often “yes” as on average where it was found, not among " +
			"records held back"},
		{quality("yes", page.Quality{AUC: .811, AUCBlocks: .722, Capture: .433, Lift: 4.33}), "of a “yes” and another " +
			"customer it ranks the “yes” higher 81.1 % of the time, the best tenth holds 43.3 % of all “yes”"},
		{quality("yes", page.Quality{AUC: .811, Capture: nan}), "of a “yes” and another customer it ranks the “yes” " +
			"higher 81.1 % of the time"},
		{quality("", page.Quality{AUC: .811, Capture: .4}), "of two customers of different classes it tells which is which " +
			"81.1 % of the time"},
		{none(0), "none"}, {none(1), "1"}, {none(1234), "1,234"}, {decimal(nan), "-"}, {decimal(.12345), "0.1235"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestStoryTellsHowFarItIs: the reasons to wait until there is a score, then the quality; profiles and calls once there
// are some.
func TestStoryTellsHowFarItIs(t *testing.T) {
	schema := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	status := stream.Status{Waiting: []string{"a broker", "a topic"}}
	var profiles page.Profiles
	board := page.NewBoard(schema, 0)
	s := &run{set: demo.Find("bank"), live: &live.Live{Source: &page.Source{Positive: "yes", Board: board,
		Status: func() stream.Status { return status }, Profiles: func() page.Profiles { return profiles }}}}
	says := func(name string, want ...string) {
		t.Helper()
		got := s.story()
		first, _, _ := strings.Cut(got[0], " (") // the pace is another one at each look
		if got[0] = first; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	says("before it is ready", "scored 0 of 45,211: a broker; a topic")
	status.Ready = true
	says("ready", "scored 0 of 45,211")
	status.Ready = false
	past := page.Past{Class: 1, P: []float64{.25, .75}, Trained: true, Rank: .75, Record: func() page.Record {
		return page.Record{Who: "7", Target: "yes", Propensity: .75, Lift: 3}
	}}
	board.Restore(past)
	past.Class, past.Rank, past.P = 0, math.NaN(), []float64{.75, .25}
	board.Restore(past)
	const ranks = "of a “yes” and another customer it ranks the “yes” higher 100.0 % of the time, the best tenth holds " +
		"20.0 % of all “yes”"
	const call = "first to call: customer 7, 75.0 % “yes”, 3.0 times the average"
	says("scored", "scored 2 of 45,211", ranks, call)
	profiles.Best = []page.Profile{{Text: "x", Class: "yes", Validated: 2, ValidatedLow: 1.5, ValidatedHigh: 3}}
	says("not confirmed", "scored 2 of 45,211", ranks, "strongest: no profile is confirmed yet on records held back from "+
		"the search", call)
	profiles.Best[0].Confirmed = true
	says("confirmed", "scored 2 of 45,211", ranks, "strongest: "+s.profile(profiles.Best[0]), call)
}

// TestScreen: a pipe gets each new state as a line; a terminal gets the lines in place of those before, cut to its
// width.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	pipe := &screen{w: &b, fd: -1}
	for _, lines := range [][]string{{"a", "b"}, {"a", "b"}, {"a", "c"}, {"a", "b"}} {
		pipe.show(lines)
	}
	if b.String() != "a; b\na; c\na; b\n" {
		t.Errorf("a pipe gets %q", b.String())
	}
	b.Reset()
	terminal := &screen{w: &b, fd: 1 << 20} // of no known width: 80
	terminal.show([]string{strings.Repeat("é", 79), strings.Repeat("é", 80), "c"})
	terminal.show([]string{"d"})
	terminal.show([]string{"e", "f"})
	terminal.end()
	terminal.show([]string{"g"})
	line := func(s string) string { return "\r\x1b[K" + s + "\n" }
	want := line(strings.Repeat("é", 79)) + line(strings.Repeat("é", 78)+"…") + line("c") +
		"\x1b[3A" + line("d") + line("") + line("") + "\x1b[3A" + line("e") + line("f") + line("") + line("g")
	if b.String() != want {
		t.Errorf("a terminal gets %q, want %q", b.String(), want)
	}
	for _, quiet := range []bool{false, true} {
		var errs bytes.Buffer
		a := cli.New(nil, io.Discard, &errs)
		a.Quiet = quiet
		if (&run{app: a}).newScreen().show([]string{"a"}); (errs.Len() == 0) != quiet {
			t.Errorf("quiet %v: %q", quiet, errs.String())
		}
	}
}

// demonstration is a run of a set with a broker of its own, its files and topics laid out.
func demonstration(t *testing.T, data string) *run {
	t.Helper()
	d := &Demonstration{Data: data, Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	s := &run{Demonstration: d, app: cli.New(nil, io.Discard, io.Discard), set: demo.Find(data)}
	if err := s.lay(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.stage, err = assemble.Load(s.app.Load, s.configFile); err != nil {
		t.Fatal(err)
	}
	s.config = s.stage.Config
	if s.cluster, err = cluster.Connect(t.Context(), s.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.cluster.Close)
	if _, err := s.cluster.CreateTopics(t.Context(), cluster.Specs(s.config)...); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFeederGoesOnWhereTheTopicEnds: in the middle of a message too; each message tells the position behind it.
func TestFeederGoesOnWhereTheTopicEnds(t *testing.T) {
	s := demonstration(t, "votes")
	for _, c := range []struct {
		sent  int
		first int // number of the first record
		marks []int
	}{{0, 1, []int{25, 50, 75}}, {50, 51, []int{75, 100, 125}}, {60, 61, []int{75, 100, 125}}, {434, 435, []int{435}},
		{435, 0, nil}} {
		before, err := s.ends(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.sent = c.sent; s.feed(t.Context()) != nil {
			t.Fatalf("feeding from %d on fails", c.sent)
		}
		var ids, marks []int
		err = s.cluster.Follow(t.Context(), cluster.Following{Topic: s.config.Topics.Events, From: txn.Start},
			func(records []txn.Record) (bool, error) {
				for _, r := range records {
					if r.Offset < before[0] {
						continue
					}
					for _, h := range r.Headers {
						if h.Key == demo.PositionHeader {
							n, err := strconv.Atoi(string(h.Value))
							if err != nil {
								return false, err
							}
							marks = append(marks, n)
						}
					}
					for table, err := range codec.Tables(r.Value, 0) {
						if err != nil {
							return false, err
						}
						for i := range table.Rows() {
							text, _ := table.Text(table.Column("member"), i)
							id, err := strconv.Atoi(text)
							if err != nil {
								return false, err
							}
							ids = append(ids, id)
						}
					}
				}
				return true, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		ok := len(ids) == 435-c.sent && (len(ids) == 0 || ids[0] == c.first && ids[len(ids)-1] == 435)
		for i := range ids {
			ok = ok && ids[i] == c.first+i
		}
		if !ok || !slices.Equal(marks[:min(len(marks), len(c.marks))], c.marks) ||
			len(marks) > 0 && marks[len(marks)-1] != 435 {
			t.Errorf("from %d on: records %v at the positions %v", c.sent, ids, marks)
		}
		if after, err := s.ends(t.Context()); err != nil || after[0] != before[0]+int64(len(marks)) || len(after) != 1 {
			t.Errorf("the topic ends at %v, was %v, %v", after, before, err)
		}
	}
}

// TestFilesOfADemonstration: they are written anew at each run, readable by their owner, and the directory with them.
func TestFilesOfADemonstration(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "anew")
	s := &run{Demonstration: &Demonstration{Dir: dir, Listen: "127.0.0.1:7"}, app: cli.New(nil, io.Discard, io.Discard),
		set: demo.Find("votes")}
	for range 2 {
		if err := s.lay(); err != nil {
			t.Fatal(err)
		}
		for name, holds := range map[string]string{"votes.yaml": "127.0.0.1:7", "votes.csv": "\n435,",
			"SOURCES.md": "Creative Commons"} {
			path := filepath.Join(dir, name)
			if b, err := os.ReadFile(path); err != nil || !bytes.Contains(b, []byte(holds)) {
				t.Errorf("%s lacks %q: %v", name, holds, err)
			}
			if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := filepath.Join(dir, "votes.yaml")
	if s.configFile != c || s.recordsFile != filepath.Join(dir, "votes.csv") {
		t.Errorf("configuration %s, records %s", s.configFile, s.recordsFile)
	}
	for _, d := range []Demonstration{{Data: "none", Listen: "a:1"}, {Data: "votes", Listen: "a:1", Rate: -1},
		{Data: "votes", Listen: "a:1", Rate: math.NaN()}, {Data: "votes", Listen: "a"}} {
		d.Dir = filepath.Join(dir, "never")
		if err := d.Run(t.Context(), cli.New(nil, io.Discard, io.Discard)); cli.Status(err) != cli.StatusUsage {
			t.Errorf("%+v: %v", d, err)
		}
		if _, err := os.Stat(d.Dir); err == nil {
			t.Errorf("%+v has made its directory", d)
		}
	}
}

// TestFinalFigures are those of the topics: scores that are missing, doubled or of nobody are told, and the first ones
// do not count.
func TestFinalFigures(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	config := parsed(t, "name: bank\nrecord:\n  id: who\n  label: {column: y, classes: [no, yes], positive: yes}\n"+
		"  features:\n    - {name: x, kind: continuous}\nlocal: off\nkernel: off\nkafka: {brokers: [\""+b.Addr()+"\"]}\n")
	var out bytes.Buffer
	s := &run{Demonstration: &Demonstration{Dir: "there"}, app: cli.New(nil, &out, io.Discard), config: config,
		set: &demo.Set{Who: "customer", Skip: 100}, configFile: "there/c.yaml", recordsFile: "there/r.csv"}
	if s.stage, err = assemble.New(config); err != nil {
		t.Fatal(err)
	}
	if s.cluster, err = cluster.Connect(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	defer s.cluster.Close()
	if _, err := s.cluster.CreateTopics(t.Context(), cluster.Specs(config)...); err != nil {
		t.Fatal(err)
	}
	const messages, rows = 12, 100
	set := evaluate.NewSet(2)
	for m := range messages {
		s.produce(t, m, rows, m != 7, m == 3, set)
	}
	s.score(t, 99, 4, nil) // of an event that is not there
	s.send(t, config.Topics.Dead, "a letter", "another")
	if err := s.final(context.Background(), "web"); err != nil {
		t.Fatal(err)
	}
	want := set.Metrics(1, 1)
	lift := float64(want.LiftAt["0.1"])
	for _, line := range []string{
		"1,200 records sent, 1,100 scored, 104 twice, 100 not scored, 2 rejected",
		"how good (each scored before it was learnt; the first 100 not counted)",
		fmt.Sprintf("  AUC         %.4f", float64(want.AUC)), fmt.Sprintf("  AUC blocks  %.4f", float64(want.AUCBlocks)),
		fmt.Sprintf("  log-loss    %.4f", float64(want.LogLoss)),
		fmt.Sprintf("  the tenth with the highest propensity holds %.1f %% of all “yes”: %.1f times as many as a tenth "+
			"picked at random", 10*lift, lift),
		"  topics         bank-events bank-scores bank-dead bank-state bank-model, in there/broker",
		"  configuration  there/c.yaml", "  records        there/r.csv",
		"  liftstream tail -c there/c.yaml --from start -n 5",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the figures lack %q:\n%s", line, out.String())
		}
	}
	if _, calls, ok := strings.Cut(out.String(), "first to call\n"); !ok || strings.Count(strings.SplitN(calls, "\n\n",
		2)[0], "\n") != 4 || !strings.HasPrefix(calls, "  customer ") {
		t.Errorf("five are to be called first:\n%s", out.String())
	}
}

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, _, err := config.Parse("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *run) send(t *testing.T, topic string, values ...string) {
	t.Helper()
	for _, v := range values {
		if err := s.cluster.Produce(t.Context(), []txn.Record{{Topic: topic, Value: []byte(v), Time: time.Unix(1, 0)}},
			txn.None); err != nil {
			t.Fatal(err)
		}
	}
}

// produce sends a message of events, with its scores or without, or with them twice. The scores that count are added to
// the set.
func (s *run) produce(t *testing.T, message, rows int, scored, twice bool, set *evaluate.Set) {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,x,y\n")
	labels := make([]int32, rows)
	for i := range rows {
		h := model.Hash(7, uint64(message), uint64(i))
		labels[i] = int32(h % 2)
		fmt.Fprintf(&b, "%d,%d,%s\n", message*rows+i, h>>20%100, s.stage.Spec.Schema.Classes[labels[i]])
	}
	path := filepath.Join(t.TempDir(), "events.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	to := cluster.NewSender(s.cluster.Client, cluster.Sending{Topic: s.config.Topics.Events, Partitions: 1, Batch: rows})
	if err := to.Files(t.Context(), []string{path}, file.TableOptions{Codec: s.stage.Codec}, s.config); err != nil {
		t.Fatal(err)
	}
	if !scored {
		return
	}
	p := s.score(t, message, rows, labels)
	if twice {
		s.score(t, message, rows, labels)
	}
	for i, label := range labels {
		if message*rows+i >= s.set.Skip {
			if err := set.Add(int64(message*rows+i), p[2*i:2*i+2], label, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// score sends the scores of a message: higher ones are more often right.
func (s *run) score(t *testing.T, message, rows int, labels []int32) []float64 {
	t.Helper()
	batch := &model.Batch{N: rows, Offset: int64(message)}
	out := &model.Scores{}
	out.Reset(rows, 2)
	for i := range rows {
		p := float64(model.Hash(8, uint64(message), uint64(i))%1000+1) / 1502
		if labels != nil && labels[i] == 1 {
			p += .25
		}
		out.P[2*i], out.P[2*i+1] = 1-p, p
		out.Target[i], out.BaseRate[i], out.Lift[i] = 1, .5, p/.5
		batch.ID, batch.Row = append(batch.ID, fmt.Sprint(message*rows+i)), append(batch.Row, int32(i))
		batch.Time, batch.Label = append(batch.Time, int64(i)), append(batch.Label, model.Unlabelled)
	}
	encoder, err := codec.NewScoreEncoder(s.stage.Codec)
	if err != nil {
		t.Fatal(err)
	}
	value, err := encoder.Encode(nil, batch, out, model.NewLevels(s.stage.Spec.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.send(t, s.config.Topics.Scores, string(value))
	return out.P
}
