package show

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/local"
	"liftstream/stream/txn"
)

// TestPageOfARecord: the figures of each feature stand under their headings, as the component has them.
func TestPageOfARecord(t *testing.T) {
	c, _, err := config.Parse("x.yaml", []byte(`name: x
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: a, kind: continuous}, {name: b, kind: continuous}, {name: v, kind: nominal}]
fit: {warmup: 100}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(n int, labelled bool) *model.Batch {
		b := &model.Batch{N: n, Columns: make([]model.Column, 3), Time: make([]int64, n), Row: make([]int32, n)}
		b.Columns[2].Levels = []string{"p", "q"}
		for i := range n {
			h := model.Hash(3, uint64(i))
			a := float64(h % 100)
			b.Columns[0].Float = append(b.Columns[0].Float, a)
			b.Columns[1].Float = append(b.Columns[1].Float, float64((h%100+h>>8%60)%100))
			b.Columns[2].Code = append(b.Columns[2].Code, uint32(h>>20%2))
			b.Label = append(b.Label, int32(h%100/60))
			if !labelled {
				b.Label[i] = model.Unlabelled
			}
		}
		return b
	}
	builder := model.NewBuilder(s.Spec)
	builder.Add(batch(2000, true))
	m, err := builder.Fit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := model.NewPartition(s.Spec, 0)
	var scores model.Scores
	one := batch(1, false)
	p.Events(one, &scores)
	var b strings.Builder
	err = Record(&b, s.Spec.Schema, p, &scores, 4)
	if err != nil || !strings.HasPrefix(b.String(), "record 4: untrained") ||
		!strings.HasSuffix(b.String(), "the model has no local curves\n") {
		t.Errorf("before a model: %v\n%s", err, b.String())
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range 20 {
		one = batch(20, false)
		one.Keep(func(k int) bool { return k == i })
		if i%4 == 3 {
			one.Columns[1].Float[0] = nan
		}
		p.Events(one, &scores)
		b.Reset()
		if err := Record(&b, s.Spec.Schema, p, &scores, int64(i)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		head := fmt.Sprintf("record %d: ok, no %.3f, yes %.3f; yes is %.2f times its base rate of %.3f", i, scores.P[0],
			scores.P[1], scores.Lift[0], scores.BaseRate[0])
		explained := p.Component(local.Name).(*local.Component).Explain(p.Row(), nil)
		if lines[0] != head || len(lines) != 3+len(explained) {
			t.Fatalf("got\n%s\nwant %s and %d features", b.String(), head, len(explained))
		}
		for k, e := range explained {
			value := fmt.Sprint(e.Value)
			switch {
			case value == "NaN":
				value = "(missing)"
			case e.Feature == 2:
				value = []string{"p", "q"}[one.Columns[2].Code[0]]
			}
			number := func(v float64, format string) string {
				if v == 0 || v != v {
					return "-"
				}
				return fmt.Sprintf(format, v)
			}
			want := []string{[]string{"a", "b", "v"}[e.Feature], value, number(e.Alone, "%.4f"), number(e.Beside, "%.4f")}
			if e.Rank > 0 {
				want = append(want, fmt.Sprint(e.Rank))
			}
			want = append(want, number(e.Mean, "%.3f"), number(e.Deviation, "%.3f"))
			if got := strings.Fields(lines[3+k]); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("record %d: got %q, want %q", i, got, want)
			}
			if e.Alone != e.Beside {
				told++
			}
		}
	}
	if told == 0 {
		t.Error("no feature says anything else beside others than alone")
	}
}

// TestTheLimitHoldsOverTheBatchesOfAMessage.
func TestTheLimitHoldsOverTheBatchesOfAMessage(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}}
	enc, err := codec.NewScoreEncoder(codec.Options{Schema: s, ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	enc.Begin(nil, 0)
	var value []byte
	for from := 0; from < 6; from += 2 {
		x := &model.Scores{}
		x.Reset(2, 2)
		b := &model.Batch{N: 2, ID: []string{fmt.Sprint(from), fmt.Sprint(from + 1)}, Time: make([]int64, 2),
			Row: make([]int32, 2)}
		if value, err = enc.Add(value, b, x, model.NewLevels(s), from); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"jsonl", "csv", "table", "arrow"} {
		for limit := 1; limit < 9; limit++ {
			var out strings.Builder
			w := bufio.NewWriter(&out)
			p, err := Topic{Format: format}.Printer(w, "scores")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := p.Print(&txn.Record{Value: value}, limit); n != min(limit, 6) || err != nil {
				t.Errorf("%s: %d rows of at most %d, %v", format, n, limit, err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if format == "jsonl" && strings.Count(out.String(), "\n") != min(limit, 6) {
				t.Errorf("at most %d: %s", limit, out.String())
			}
		}
	}
}
