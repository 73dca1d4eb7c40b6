package show

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// scored makes a scores message of three records in a format: one that all is known of, one of an untrained model, and
// one without an id.
func scored(t *testing.T, format codec.Format, id string) []byte {
	t.Helper()
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "age"},
		{Name: "job", Kind: model.Nominal}}}
	enc, err := codec.NewScoreEncoder(codec.Options{Schema: s, ID: id, Format: format, Control: true})
	if err != nil {
		t.Fatal(err)
	}
	levels := model.NewLevels(s)
	levels.Code(1, "retired")
	x := &model.Scores{Model: 12}
	x.Reset(3, 2)
	x.Model = 12
	for i := range 3 {
		x.P[2*i], x.P[2*i+1] = .25, .75
		x.Segment[i], x.Target[i], x.Lift[i], x.Percentile[i] = 0, 1, 2.25, .875
	}
	x.Why = []model.Reason{{Feature: 0, Value: 58, Effect: .5, Lift: 2, N: 10}, {Feature: 1, Value: 0, Effect: -.25},
		{Feature: 0, Value: nan, Effect: .125}, {Feature: 1, Value: 0, Effect: .0625}}
	x.Control = []bool{false, false, true}
	x.WhyEnd[0], x.WhyEnd[1], x.WhyEnd[2] = 4, 4, 4
	x.Status[1], x.Status[2] = model.StatusUntrained, model.StatusDegraded
	b := &model.Batch{N: 3, Time: make([]int64, 3), Row: []int32{4, 5, 6}, Partition: 2, Offset: 30}
	if id != "" {
		b.ID = []string{"a\x1b", "b", "cccccccccccccccccccc"}
	}
	value, err := enc.Encode(nil, b, x, levels, nil)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// registered are the schemas of a registry.
type registered map[uint32]string

func (s registered) Avro(id uint32, done <-chan struct{}) (string, error) {
	if text, ok := s[id]; ok {
		return text, nil
	}
	<-done
	return "", codec.ErrStopped
}

// TestTailOfFramedMessages: scores of Avro and framed JSON are printed as the row that they are, in every format that
// takes them; a message of another schema is named, and a registry that is away ends the wait with done.
func TestTailOfFramedMessages(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "age"}}}
	for _, format := range []codec.Format{codec.FormatJSON, codec.FormatAvro} {
		o := codec.Options{Schema: s, ID: "id", Format: format, Frame: &codec.Frame{}}
		o.Frame.Set(5)
		enc, err := codec.NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := codec.ScoreSchema(o)
		if err != nil {
			t.Fatal(err)
		}
		x := &model.Scores{}
		x.Reset(1, 2)
		x.P[0], x.P[1], x.Target[0], x.Lift[0], x.Percentile[0] = .25, .75, 1, 2.25, .875
		x.Why, x.WhyEnd[0] = []model.Reason{{Feature: 0, Value: 58, Effect: .5, Lift: 2, N: 10}}, 1
		b := &model.Batch{N: 1, ID: []string{"a\x1b"}, Time: make([]int64, 1), Row: make([]int32, 1)}
		value, err := enc.Encode(nil, b, x, model.NewLevels(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		topic := Topic{Plain: &codec.Plain{Schemas: registered{5: schema, 6: "{"}}}
		for kind, want := range map[string]string{
			"table": "a·               no                   75.0%     2.2x   12.5%      0  age=58 (+0.50)\n",
			"jsonl": `"lift":2.25,"percentile":0.875,`, "csv": ",2.25,0.875,"} {
			topic.Format = kind
			if got := printed(t, topic, "scores", txn.Record{Value: value}); !strings.Contains(got, want) {
				t.Errorf("format %d, %s: %s", format, kind, got)
			}
		}
		var told error
		topic.Unreadable = func(_ *txn.Record, err error) { told = err }
		done := make(chan struct{})
		close(done)
		topic.Done = done
		p, err := topic.Printer(bufio.NewWriter(io.Discard), "scores")
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[byte]error{6: nil, 7: codec.ErrStopped} {
			other := append([]byte{0, 0, 0, 0, id}, "\x02"...)
			if n, err := p.Print(&txn.Record{Value: other}, 1); n != 0 || !errors.Is(err, want) {
				t.Errorf("format %d, schema %d: %d rows, %v", format, id, n, err)
			}
		}
		if told == nil || !strings.Contains(told.Error(), "schema 6") {
			t.Errorf("format %d: told of %v", format, told)
		}
	}
}

// TestTailOfScores: people see the share of the target, the part of the records above it, and the first three reasons;
// the same from Arrow and from JSON lines.
func TestTailOfScores(t *testing.T) {
	const want = "who              most likely     propensity  average     top  model  because\n" +
		"a·               no                   75.0%     2.2x   12.5%     12  " +
		"age=58 (+0.50), job=retired (-0.25), age=missing (+0.12)\n" +
		"b                no                   75.0%        -       -     12  (untrained)\n" +
		"ccccccccccccccc… no                   75.0%     2.2x   12.5%     12  (control) (degraded)\n"
	for _, format := range []codec.Format{codec.FormatArrow, codec.FormatJSONL} {
		r := txn.Record{Value: scored(t, format, "id")}
		if got := printed(t, Topic{Format: "table"}, "scores", r); got != want {
			t.Errorf("format %d: got\n%swant\n%s", format, got, want)
		}
		r = txn.Record{Value: scored(t, format, "")}
		if got := printed(t, Topic{Format: "table"}, "scores", r, r); !strings.Contains(got, "\n2/30/4 ") ||
			strings.Count(got, "who ") != 1 || strings.Count(got, "\n2/30/6 ") != 2 {
			t.Errorf("format %d: without ids\n%s", format, got)
		}
	}
}

// TestTailOfRows: the limit holds over the batches of a message, in every format; the heading comes anew with other
// columns alone.
func TestTailOfRows(t *testing.T) {
	first := message(t, `{"id": "a", "x": "=1\u001b"}`+"\n"+`{"id": "b", "x": null}`+"\n"+`{"id": "c", "x": "3"}`,
		"id", "x")
	second := message(t, `{"id": "d", "y": "4"}`, "id", "y")
	for _, c := range []struct {
		topic Topic
		want  string
	}{
		{Topic{Format: "jsonl"}, `{"id":"a","x":"=1\u001b"}` + "\n" +
			`{"id":"b","x":null}` + "\n" + `{"id":"d","y":"4"}` + "\n"},
		{Topic{Format: "csv"}, "id,x\na,=1\x1b\nb,\nid,y\nd,4\n"},
		{Topic{Format: "csv", Terminal: true}, "id,x\na,=1·\nb,\nid,y\nd,4\n"},
		{Topic{Format: "csv", Spreadsheet: true}, "id,x\na,'=1·\nb,\nid,y\nd,4\n"},
		{Topic{Format: "table"}, "id        x         \na         =1·       \nb         -         \n" +
			"id        y         \nd         4         \n"},
	} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		p, err := c.topic.Printer(w, "events")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := p.Print(&txn.Record{Value: first}, 2); n != 2 || err != nil {
			t.Errorf("%+v: %d rows, %v", c.topic, n, err)
		}
		if n, err := p.Print(&txn.Record{Value: second}, 9); n != 1 || err != nil {
			t.Errorf("%+v: %d rows, %v", c.topic, n, err)
		}
		if err := errors.Join(p.Close(), w.Flush()); err != nil || b.String() != c.want {
			t.Errorf("%+v: %v, got\n%q want\n%q", c.topic, err, b.String(), c.want)
		}
	}
}

// TestTailAsArrow: the rows come out as one stream, no more than were asked for, of several batches.
func TestTailAsArrow(t *testing.T) {
	value := message(t, `{"id": "a"}`+"\n"+`{"id": "b"}`+"\n"+`{"id": "c"}`, "id")
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	p, err := Topic{Format: "arrow"}.Printer(w, "labels")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{2, 9} {
		if n, err := p.Print(&txn.Record{Value: value}, limit); n != min(limit, 3) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := errors.Join(p.Close(), w.Flush()); err != nil {
		t.Fatal(err)
	}
	s, err := codec.NewTableStream(&b)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for {
		table, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range table.Rows() {
			id, _ := table.Text(0, i)
			ids = append(ids, id)
		}
	}
	if got := strings.Join(ids, " "); got != "a b a b c" {
		t.Errorf("got %s", got)
	}
}

// TestTailPassesOverWhatItCannotRead, and tells of it.
func TestTailPassesOverWhatItCannotRead(t *testing.T) {
	good := message(t, `{"id": "a"}`, "id")
	var told []int64
	topic := Topic{Format: "csv", MaxMessage: int64(len(good)), Unreadable: func(r *txn.Record, err error) {
		if err != nil {
			told = append(told, r.Offset)
		}
	}}
	got := printed(t, topic, "events", txn.Record{Offset: 1, Value: []byte("text")}, txn.Record{Offset: 2, Value: good},
		txn.Record{Offset: 3, Value: append(good[:len(good):len(good)], 0)}, txn.Record{Offset: 4, Value: good})
	if got != "id\na\na\n" || len(told) != 2 || told[0] != 1 || told[1] != 3 {
		t.Errorf("got %q, unreadable are %v", got, told)
	}
	if _, err := (&rowPrinter{Topic: Topic{Format: "arrow"}}).Print(&txn.Record{Value: []byte("{}")}, 1); err == nil {
		t.Error("JSON lines were printed as Arrow")
	}
}
