package demo

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// TestBestOfALedger: the head of all records in order, the earlier ones first where they tie.
func TestBestOfALedger(t *testing.T) {
	for _, positive := range []int{1, -1} {
		l := &Ledger{schema: &model.Schema{Positive: positive}}
		var all []page.Record
		for i := range 300 {
			h := model.Hash(21, uint64(i))
			r := page.Record{Who: fmt.Sprint(i), Propensity: float64(h % 40), Lift: float64(h >> 20 % 40),
				BaseRate: 1}
			rank := r.Propensity
			if positive < 0 {
				rank = r.Lift
			}
			if h>>40%10 == 0 {
				l.offer(math.NaN(), func() page.Record { t.Fatal("a record of no rank is rendered"); return r })
				continue
			}
			all = append(all, r)
			l.offer(rank, func() page.Record { return r })
			want := slices.Clone(all)
			slices.SortStableFunc(want, func(x, y page.Record) int {
				if positive >= 0 {
					return cmp.Compare(y.Propensity, x.Propensity)
				}
				return cmp.Compare(y.Lift, x.Lift)
			})
			want = want[:min(10, len(want))]
			if !slices.EqualFunc(l.Best, want, func(x, y page.Record) bool { return x.Who == y.Who }) {
				t.Fatalf("positive %d, record %d: %v, want %v", positive, i, l.Best, want)
			}
		}
	}
}

// TestTopicsAreReadToTheirEnd: all partitions, each message once, sound or not.
func TestTopicsAreReadToTheirEnd(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
	defer c.Close()
	topics := Topics{Events: "events", Scores: "scores", Dead: "dead"}
	for _, name := range []string{topics.Events, topics.Scores, topics.Dead} {
		if _, err := c.CreateTopics(t.Context(), txn.TopicSpec{Name: name, Partitions: 5, Replication: 1}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(topic string, partition int, value []byte, position string) {
		t.Helper()
		r := txn.Record{Topic: topic, Partition: partition, Value: value, Time: time.Unix(1, 0)}
		if position != "" {
			r.Headers = []txn.Header{{Key: "other", Value: []byte("99999")}, {Key: PositionHeader, Value: []byte(position)}}
		}
		if err := c.Produce(t.Context(), []txn.Record{r}, txn.None); err != nil {
			t.Fatal(err)
		}
	}
	s := &model.Schema{Classes: []string{"no", "yes", "maybe"}, Positive: 1, Features: []model.Feature{
		{Name: "age", Kind: model.Continuous}, {Name: "job", Kind: model.Nominal}}}
	o := codec.Options{Schema: s, ID: "customer", Time: "at", Label: "class", MaxMessage: 1 << 20}
	batch, scores, levels := some(s)
	encoder, err := codec.NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	scored := func(offset int64, rows ...int32) []byte {
		t.Helper()
		batch.Offset = offset
		batch.Row = rows
		value, err := encoder.Encode(nil, batch, scores, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	events := lines(t, o)
	send(topics.Events, 3, events, "10")
	send(topics.Events, 3, []byte("no events"), "20")
	send(topics.Events, 3, events, "15")
	send(topics.Events, 4, events, "no number")
	for _, offset := range []int64{0, 0, 2, 2} {
		send(topics.Scores, 3, scored(offset, 1, 0, 2, 3, 4), "")
	}
	send(topics.Scores, 3, scored(1, 0, 1, 2, 3, 4), "") // of a message that cannot be read
	for range 2 {
		send(topics.Dead, 0, []byte("a letter"), "")
	}
	send(topics.Dead, 4, []byte("a letter"), "")
	seen, past := 0, 0
	l, err := Read(t.Context(), c, topics, o, Watch{Events: func(b *model.Batch) { seen += b.N }, Scores: func(page.Past) {
		past++
	}})
	if err != nil {
		t.Fatal(err)
	}
	if l.Position != 20 || l.Events != 15 || l.Scored != 10 || l.Twice != 10 || l.Strange != 5 || l.Dead != 3 ||
		l.Missing() != 5 || seen != 15 || past != 10 {
		t.Errorf("position %d, %d events, %d scored, %d twice, %d strange, %d dead, %d missing; seen %d and %d", l.Position,
			l.Events, l.Scored, l.Twice, l.Strange, l.Dead, l.Missing(), seen, past)
	}
	if again, err := Read(t.Context(), c, topics, o, Watch{}); err != nil || again.Scored != 10 {
		t.Errorf("without a watch: %+v, %v", again, err)
	}
	topics.Dead = "none"
	if _, err := Read(t.Context(), c, topics, o, Watch{}); err == nil || !strings.Contains(err.Error(), "reading none: ") {
		t.Errorf("without a topic: %v", err)
	}
	send(topics.Scores, 1, []byte("no scores"), "")
	if _, err := Read(t.Context(), c, topics, o, Watch{}); err == nil ||
		!strings.Contains(err.Error(), "reading scores, partition 1, offset 0: ") {
		t.Errorf("with a message that is none of scores: %v", err)
	}
}

// TestNewestOfAMessage are its last records, as many as the page shows.
func TestNewestOfAMessage(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "age"}}}
	o := codec.Options{Schema: s, ID: "customer"}
	encoder, err := codec.NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, page.Kept, page.Kept + 1, 3 * page.Kept} {
		b, scores := &model.Batch{N: n, Partition: 3, Offset: 41}, &model.Scores{}
		scores.Reset(n, 2)
		for i := range n {
			b.ID, b.Row = append(b.ID, fmt.Sprint(i)), append(b.Row, int32(i))
			b.Time, b.Label = append(b.Time, int64(i)), append(b.Label, model.Unlabelled)
			scores.P[2*i], scores.P[2*i+1] = .5, .5
		}
		value, err := encoder.Encode(nil, b, scores, model.NewLevels(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &Ledger{schema: s, events: map[place]event{}}
		l.admit(3, 41, b)
		var got []string
		err = l.take(&txn.Record{Value: value}, o, func(x page.Past) {
			if x.Newest {
				got = append(got, x.Record().Who)
			}
		})
		if err != nil || !slices.Equal(got, b.ID[max(0, n-page.Kept):]) {
			t.Errorf("of %d records %q are the newest, %v", n, got, err)
		}
	}
}

// lines are five events.
func lines(t *testing.T, o codec.Options) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("customer,at,class,age,job\n")
	for i := range 5 {
		fmt.Fprintf(&b, "customer %d,2026-01-02T03:04:0%dZ,%s,%d,nurse\n", i, i, o.Schema.Classes[i%3], 30+i)
	}
	return arrow(t, b.String(), o)
}

// TestConfigurationOfASet: any directory is taken as it is.
func TestConfigurationOfASet(t *testing.T) {
	for _, dir := range []string{"/data", `a "b" 'c'`, `C:\dir`, "${HOME}/$x", "ü\tß"} {
		text, err := Find("votes").Config(dir, "127.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		c, warnings, err := config.Parse("votes.yaml", text, nil)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%q: %v %v", dir, warnings, err)
			continue
		}
		if c.Kafka.Embedded.Dir != dir || c.HTTP.Listen != "127.0.0.1:7" {
			t.Errorf("%q becomes %q at %s", dir, c.Kafka.Embedded.Dir, c.HTTP.Listen)
		}
	}
	if Find("none") != nil || Find("bank").Name != "bank" || !slices.Equal(Names(), []string{"bank", "votes"}) {
		t.Errorf("sets %q", Names())
	}
}

// TestRecordsOfASet are numbered from 1 in a column of their own.
func TestRecordsOfASet(t *testing.T) {
	for _, name := range Names() {
		var b strings.Builder
		set := Find(name)
		if err := set.WriteRecords(&b); err != nil {
			t.Fatal(err)
		}
		n, columns := -1, 0
		for line := range strings.Lines(b.String()) {
			first, rest, _ := strings.Cut(line, ",")
			if n++; n == 0 {
				columns = strings.Count(rest, ",")
			}
			if want := map[bool]string{true: set.Who, false: strconv.Itoa(n)}[n == 0]; first != want ||
				strings.Count(rest, ",") != columns || !strings.HasSuffix(rest, "\n") {
				t.Fatalf("%s: line %d is %q", name, n, line)
			}
		}
		if n != set.Records {
			t.Errorf("%s has %d records, want %d", name, n, set.Records)
		}
	}
}

// arrow makes an events message of the lines of a CSV file.
func arrow(t *testing.T, text string, o codec.Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := file.OpenTables([]string{path}, file.TableOptions{Codec: o})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	value, err := codec.NewEventEncoder().Encode(nil, table, []int{0, 1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	return value
}
