package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// brokers is a Cluster with topics of three partitions.
func brokers(t *testing.T, topics ...string) *Cluster {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	k := &Cluster{Client: txn.NewClient(txn.Config{Brokers: []string{b.Addr()}}), Address: b.Addr()}
	t.Cleanup(k.Client.Close)
	for _, name := range topics {
		if _, err := k.CreateTopics(t.Context(), txn.TopicSpec{Name: name, Partitions: 3, Replication: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (k *Cluster) send(t *testing.T, topic string, partition int, values ...string) {
	t.Helper()
	var records []txn.Record
	for _, v := range values {
		records = append(records, txn.Record{Topic: topic, Partition: partition, Value: []byte(v), Time: time.Now()})
	}
	if err := k.Produce(context.Background(), records, txn.None); err != nil {
		t.Fatal(err)
	}
}

// TestFollowReadsEachRecordOnce: of each partition in order, to the end of the topic as it was at the call, or on.
func TestFollowReadsEachRecordOnce(t *testing.T) {
	k := brokers(t, "x")
	k.send(t, "x", 0, "a0", "a1")
	k.send(t, "x", 2, "c0")
	k.send(t, "x", 0, "a2")
	read := func(o Following, f func(r *txn.Record) (bool, error)) ([]string, error) {
		o.Topic = "x"
		var got []string
		err := k.Follow(t.Context(), o, func(records []txn.Record) (bool, error) {
			for i := range records {
				got = append(got, string(records[i].Value))
				if more, err := f(&records[i]); !more || err != nil {
					return more, err
				}
			}
			return true, nil
		})
		return got, err
	}
	want := func(name string, got []string, err error, all ...string) {
		t.Helper()
		if !slices.Equal(got, all) || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, all)
		}
	}
	got, err := read(Following{From: txn.Start}, func(r *txn.Record) (bool, error) {
		if string(r.Value) == "a0" { // these came after the call
			k.send(t, "x", 1, "b0")
			k.send(t, "x", 2, "c1")
		}
		return true, nil
	})
	want("to the end of the call", got, err, "a0", "a1", "a2", "c0")
	got, err = read(Following{From: txn.End}, func(*txn.Record) (bool, error) { return true, nil })
	want("from the end", got, err)
	got, err = read(Following{From: txn.Start}, func(r *txn.Record) (bool, error) { return string(r.Value) != "a1", nil })
	want("until it has enough", got, err, "a0", "a1")
	broken := errors.New("broken")
	if _, err = read(Following{From: txn.Start}, func(*txn.Record) (bool, error) { return true, broken }); err != broken {
		t.Errorf("its own error becomes %v", err)
	}
	// A partition that always has more does not keep the others from their turn.
	turns := 0
	got, err = read(Following{From: txn.Start, Wait: true, Away: func(error) {}}, func(r *txn.Record) (bool, error) {
		if turns++; turns > 60 {
			return false, errors.New("the other partitions have no turn")
		}
		if strings.HasPrefix(string(r.Value), "a") {
			k.send(t, "x", 0, fmt.Sprint("a", 3+turns))
		}
		return string(r.Value) != "c1", nil
	})
	if err != nil || !slices.Contains(got, "b0") || !slices.Contains(got, "c0") {
		t.Errorf("while one partition grows: %q, %v", got, err)
	}
	// From the end on only later records are seen, and an interrupt ends it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var later []string
	end, err := k.ListOffsets(ctx, "x", []int{1}, txn.End)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- k.Follow(ctx, Following{Topic: "x", From: txn.Start, Wait: true, Away: func(error) {}},
			func(records []txn.Record) (bool, error) {
				for _, r := range records {
					if r.Partition == 1 && r.Offset >= end[1] {
						later = append(later, string(r.Value))
						cancel()
					}
				}
				return true, nil
			})
	}()
	k.send(t, "x", 1, "b1")
	if err := <-done; !errors.Is(err, context.Canceled) || !slices.Equal(later, []string{"b1"}) {
		t.Errorf("later came %q, %v", later, err)
	}
	if err := k.Follow(t.Context(), Following{Topic: "none"}, nil); txn.KindOf(err) != txn.NoTopic ||
		!strings.Contains(err.Error(), "reading none: ") {
		t.Errorf("a topic that is not there: %v", err)
	}
}

// TestErrorsThatFollowBears: those of brokers that are away, while it waits for more, and for a time.
func TestErrorsThatFollowBears(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		wait  bool
		lost  time.Duration // ago; 0 = the brokers are there
		kind  txn.Kind
		bears bool
	}{
		{"away", true, 0, txn.Environment, true}, {"no answer", true, 0, txn.Unknown, true},
		{"still away", true, patience - time.Minute, txn.Environment, true},
		{"away too long", true, patience + time.Minute, txn.Environment, false},
		{"no such topic", true, 0, txn.NoTopic, false}, {"not yet known again", true, time.Minute, txn.NoTopic, true},
		{"no right", true, time.Minute, txn.Denied, false}, {"taken by retention", true, 0, txn.OutOfRange, false},
		{"to the end alone", false, 0, txn.Environment, false}, {"to the end alone, again", false, 1, txn.Unknown, false},
	} {
		var told []error
		r := &follower{Following: Following{Topic: "x", Wait: c.wait, Away: func(err error) { told = append(told, err) }}}
		if c.lost > 0 {
			r.lost = time.Now().Add(-c.lost)
		}
		was := r.lost
		// The context ends the pause alone: an error that is not borne comes first.
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := r.bear(ctx, kind(c.kind))
		stop()
		if bears := errors.Is(err, context.DeadlineExceeded); bears != c.bears || !bears && txn.KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
		if first := c.bears && c.lost == 0; (len(told) == 1) != first || r.lost.Equal(was) == first {
			t.Errorf("%s: told %v, away since %v, was %v", c.name, told, r.lost, was)
		}
		if err := r.bear(ended, kind(c.kind)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, interrupted: %v", c.name, err)
		}
	}
}

// TestLengthOfATopic is that of all its partitions, without the records that retention took.
func TestLengthOfATopic(t *testing.T) {
	k := brokers(t, "x")
	k.send(t, "x", 0, "a", "b", "c", "d", "e")
	k.send(t, "x", 2, "f", "g")
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = 0, 3
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic, topic.Partitions = "x", append(topic.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 1, 5000, append(req.Topics, topic)
	conn, err := net.Dial("tcp", k.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if n, err := k.Length(t.Context(), txn.Topic{Name: "x", Partitions: 3}); n != 4 || err != nil {
		t.Errorf("%d records, %v, want 4", n, err)
	}
}

func csvFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tableOf is a table of the rows of a CSV file.
func tableOf(t *testing.T, text string) *codec.Table {
	t.Helper()
	r, err := file.OpenTables([]string{csvFile(t, text)}, file.TableOptions{Missing: []string{""}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// sentMessage is an events message as its reader sees it.
type sentMessage struct {
	partition int
	key       string
	rows      string // the column who
	mark      string
	at        time.Time
}

func (k *Cluster) sent(t *testing.T, topic string) (out []sentMessage) {
	t.Helper()
	err := k.Follow(t.Context(), Following{Topic: topic, From: txn.Start}, func(records []txn.Record) (bool, error) {
		for _, r := range records {
			m := sentMessage{partition: r.Partition, key: "none", at: r.Time}
			if r.Key != nil {
				m.key = string(r.Key)
			}
			n := 0
			for table, err := range codec.Tables(r.Value, 0) {
				if err != nil {
					return false, err
				}
				for i := range table.Rows() {
					who, ok := table.Text(table.Column("who"), i)
					m.rows += map[bool]string{true: who, false: "-"}[ok]
					n++
				}
			}
			want := codec.EventHeaders(r.Value, n)
			for _, h := range r.Headers {
				switch h.Key {
				case codec.HeaderRows:
					want.Rows = slices.Concat(want.Rows, h.Value)
				case codec.HeaderCRC32C:
					want.CRC32C = slices.Concat(want.CRC32C, h.Value)
				default:
					m.mark += h.Key + "=" + string(h.Value)
				}
			}
			if again := codec.EventHeaders(r.Value, n); string(want.Rows) != string(again.Rows)+string(again.Rows) ||
				string(want.CRC32C) != string(again.CRC32C)+string(again.CRC32C) {
				t.Errorf("headers %q of a message of %d rows", r.Headers, n)
			}
			out = append(out, m)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMessagesOfASender: their rows, partitions and keys, in turn and by a column, and their counts.
func TestMessagesOfASender(t *testing.T) {
	byKey := func(text string) int { return txn.Partition([]byte(text), 3) }
	for _, c := range []struct {
		name, key, data string
		batch           int
		want            []string // partition, key, rows
	}{
		{"in turn", "", "who,z\na,1\nb,2\nc,3\nd,4\ne,5\nf,6\ng,7\n", 2, []string{"0 none ab", "0 none g", "1 none cd",
			"2 none ef"}},
		{"by key", "z", "who,z\na,1\nb,2\nc,1\nd,2\ne,1\n", 2, []string{fmt.Sprint(byKey("1"), " 1 ac"),
			fmt.Sprint(byKey("1"), " 1 e"), fmt.Sprint(byKey("2"), " 2 bd")}},
		{"missing keys", "who", "who,z\n,1\n,2\n", 5, []string{fmt.Sprint(byKey(""), " none --")}},
	} {
		k := brokers(t, "events")
		var told []int64
		s := NewSender(k.Client, Sending{Topic: "events", Partitions: 3, Key: c.key, Batch: c.batch,
			Progress: func(n int64) { told = append(told, n) }})
		cfg := &config.Config{Record: config.Record{ID: c.key}}
		err := s.Files(t.Context(), []string{csvFile(t, c.data)}, file.TableOptions{Missing: []string{""}}, cfg)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, m := range k.sent(t, "events") {
			got = append(got, strings.TrimSpace(fmt.Sprint(m.partition, " ", m.key, " ", m.rows, m.mark)))
		}
		slices.Sort(got)
		slices.Sort(c.want)
		rows := strings.Count(c.data, "\n") - 1
		if !slices.Equal(got, c.want) || s.Records != rows || s.Messages != len(c.want) || len(told) != 1 ||
			told[0] != int64(rows) {
			t.Errorf("%s: %q, want %q; %d records in %d messages, told %v", c.name, got, c.want, s.Records, s.Messages, told)
		}
	}
}

// TestKeyOfAMessage is the text that all its rows have.
func TestKeyOfAMessage(t *testing.T) {
	table := tableOf(t, "k,z\na,1\na,2\nb,3\n,4\n,5\na,6\n")
	for _, c := range []struct {
		rows []int
		want string // "" = none
	}{{[]int{0}, "a"}, {[]int{0, 1, 5}, "a"}, {[]int{2}, "b"}, {[]int{0, 2}, ""}, {[]int{0, 1, 2}, ""}, {[]int{3}, ""},
		{[]int{3, 4}, ""}, {[]int{0, 3}, ""}, {[]int{3, 0}, ""}, {[]int{0, 3, 5}, ""}} {
		if got := shared(table, 0, c.rows); string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("rows %v have the key %q, want %q", c.rows, got, c.want)
		}
	}
	if got := shared(table, -1, []int{0}); got != nil {
		t.Errorf("without a column the key is %q", got)
	}
}

// TestRowsBeforeABadOneAreSent, and counted; so are those of the sendings before an error.
func TestRowsBeforeABadOneAreSent(t *testing.T) {
	k := brokers(t, "events")
	s := NewSender(k.Client, Sending{Topic: "events", Partitions: 3, Batch: 2})
	path := csvFile(t, "who,z\na,1\nb,2\nc,3\nd,4\ne,x\n")
	schema := &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{{Name: "z", Kind: model.Continuous}}}
	err := s.Files(t.Context(), []string{path}, file.TableOptions{Codec: codec.Options{Schema: schema}, Rows: 2},
		&config.Config{})
	if err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("the bad row: %v", err)
	}
	if got := k.sent(t, "events"); len(got) != 2 || got[0].rows+got[1].rows != "abcd" || s.Records != 4 ||
		s.Messages != 2 {
		t.Errorf("sent %+v; %d records in %d messages", got, s.Records, s.Messages)
	}
}

// TestRateOfASender: a message is not sent before the records before it had their time, and a mark stands on each.
func TestRateOfASender(t *testing.T) {
	k := brokers(t, "events")
	s := NewSender(k.Client, Sending{Topic: "events", Partitions: 1, Batch: 4, Rate: 20})
	s.Mark = txn.Header{Key: "mark", Value: []byte("7")}
	if err := s.Files(t.Context(), []string{csvFile(t, "who\na\nb\nc\nd\ne\nf\n")}, file.TableOptions{},
		&config.Config{}); err != nil {
		t.Fatal(err)
	}
	got := k.sent(t, "events")
	if len(got) != 2 || got[0].mark != "mark=7" || got[1].mark != "mark=7" {
		t.Fatalf("sent %+v", got)
	}
	if gap := got[1].at.Sub(got[0].at); gap < 198*time.Millisecond { // the broker keeps milliseconds
		t.Errorf("at 20 records a second the fifth one is sent after %v", gap)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s.Rate = .01 // the next is due in minutes
	if err := s.Files(late, []string{csvFile(t, "who\ng\n")}, file.TableOptions{}, &config.Config{}); !errors.Is(err,
		context.DeadlineExceeded) || s.Records != 6 {
		t.Errorf("%v, %d records are sent", err, s.Records)
	}
}

// TestColumnsThatATopicNeeds: the columns of its reader, and no other.
func TestColumnsThatATopicNeeds(t *testing.T) {
	c := configured(t, "")
	c.Record.ID, c.Record.Time.Column, c.Record.Weight = "who", "at", "w"
	for _, x := range []struct {
		columns, lacks string
		labels         bool
	}{
		{"who,at,w,age", "", false}, {"who,at,w,age,seen,y", "", false}, {"at,w,age", "who", false},
		{"who,w,age", "at", false}, {"who,at,age", "w", false}, {"who,at,w,seen", "age", false},
		{"who,y", "", true}, {"who", "y", true}, {"y,source_partition,source_offset,source_row", "", true},
		{"source_partition,source_offset,source_row", "y", true}, {"y,source_offset,source_row", "source_partition", true},
		{"y,source_partition,source_row", "source_offset", true}, {"y,source_partition,source_offset", "source_row", true},
	} {
		table := tableOf(t, x.columns+"\n"+strings.Repeat("1,", strings.Count(x.columns, ","))+"1\n")
		err := NewSender(nil, Sending{Topic: "t", Labels: x.labels}).complete(table, []string{"data.csv"}, c)
		if (err == nil) != (x.lacks == "") || err != nil &&
			err.Error() != fmt.Sprintf("data.csv: there is no column %q, which the topic t needs", x.lacks) {
			t.Errorf("columns %s, labels %v: %v", x.columns, x.labels, err)
		}
	}
	c.Record.Features[0].Nullable = config.NullableColumn
	table := tableOf(t, "who,at,w\n1,1,1\n")
	if err := NewSender(nil, Sending{Topic: "t"}).complete(table, []string{"data.csv"}, c); err != nil {
		t.Errorf("a column that may be absent: %v", err)
	}
}

// TestBrokersAreBackOnce: the first fetch that works says so, and ends the time without them.
func TestBrokersAreBackOnce(t *testing.T) {
	k := brokers(t, "x")
	k.send(t, "x", 0, "a")
	told := 0
	r, err := k.follower(t.Context(), Following{Topic: "x", From: txn.Start, Wait: true, Away: func(err error) {
		if told++; err != nil {
			t.Errorf("away: %v", err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.lost = time.Now()
	for i, moves := range []bool{true, false, false} {
		records, moved, err := r.fetch(t.Context(), 0)
		if err != nil || moved != moves || (len(records) == 1) != moves || told != 1 || !r.lost.IsZero() {
			t.Errorf("fetch %d: %d records, moved %v, %v; told %d times, away since %v", i, len(records), moved, err, told,
				r.lost)
		}
	}
}
