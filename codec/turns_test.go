package codec

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// turn is one message of many that one decoder and one encoder take in turn.
type turn struct {
	name    string
	records []arrow.Record
	carry   bool
}

func turns(t *testing.T) []turn {
	t.Helper()
	rows := func(n int, color string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`{"who": %d, "at": %d, "w": %d, "class": "no", "x": %d, "size": "m", "color": "%s%d"}`,
				i, i, i%7-1, i, color, i%5))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	narrow := append([]arrow.Field{}, contractFields[:7]...)
	narrow[0], narrow[1] = field("who", utf8Type), field("at", arrow.FixedWidthTypes.Timestamp_ms)
	texts := strings.NewReplacer(`"who": `, `"who": "u`, `, "at": `, `", "at": "1970-01-01", "seen": `)
	other := record(t, narrow, texts.Replace(rows(4, "grün")))
	wide, few := record(t, contractFields, rows(30, "red")), record(t, contractFields, rows(3, "blue"))
	good := record(t, contractFields, `[{"who": 1, "at": 1, "w": 1, "class": "1", "x": 2, "size": "s", "color": "c"}]`)
	return []turn{{"wide", []arrow.Record{wide}, true}, {"few", []arrow.Record{few}, true},
		{"without a carry", []arrow.Record{good}, false}, {"another schema", []arrow.Record{other}, true},
		{"two batches", []arrow.Record{few, wide}, true}, {"no rows", []arrow.Record{wide.NewSlice(0, 0)}, true},
		{"one", []arrow.Record{good}, true}, {"without a carry again", []arrow.Record{wide}, false}}
}

// scoresOf are scores of n records that differ from record to record.
func scoresOf(n int) *model.Scores {
	s := &model.Scores{Model: int64(n)}
	s.Reset(n, 2)
	for i := range n {
		s.P[2*i], s.P[2*i+1] = 1/float64(i+2), 1-1/float64(i+2)
		s.Status[i] = []model.Status{model.StatusOK, model.StatusUntrained, model.StatusDegraded}[i%3]
		for f := range i % 4 {
			s.Subspace, s.Relevance = append(s.Subspace, int32(f)), append(s.Relevance, float32(i))
			s.Why = append(s.Why, model.Reason{Feature: 0, Value: float64(i), Effect: float64(f), Lift: 2, N: float64(n)})
		}
		s.SubspaceEnd[i], s.WhyEnd[i] = int32(len(s.Subspace)), int32(len(s.Why))
	}
	return s
}

// answer has every result of a message.
func answer(t *testing.T, d *Decoder, e *ScoreEncoder, x turn, limit int) (out []string) {
	t.Helper()
	value := encodeStream(t, x.records)
	var b model.Batch
	var c Carry
	bad, err := d.Decode(&Message{Value: value, Time: 3, Partition: 1, Offset: 2}, &b, &c)
	if err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	out = append(out, fmt.Sprintf("%+v %+v %+v", b, bad, d.Changes()))
	for _, r := range bad {
		out = append(out, string(d.DeadRow(value, r.Row)))
	}
	carry := &c
	if !x.carry {
		carry = nil
	}
	s := scoresOf(b.N)
	levels := model.NewLevels(e.o.Schema)
	scores, err := e.Encode(nil, &b, s, levels, carry)
	if err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	e.Begin(carry, limit)
	parts, err := e.Add([]byte("before"), &b, s, levels, 0)
	if err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	list, lost := e.Parts()
	return append(out, string(scores), string(parts), fmt.Sprint(list, lost))
}

// TestNothingOfAMessageIsLeftInTheNext: a decoder and an encoder that have taken other messages give the same as new
// ones, in every form, format and limit.
func TestNothingOfAMessageIsLeftInTheNext(t *testing.T) {
	modeltest.Computes(t)
	all := turns(t)
	for _, format := range []Format{FormatArrow, FormatJSONL} {
		for _, features := range []Features{FeaturesNone, FeaturesSelected, FeaturesAll} {
			for _, limit := range []int{0, 6000, 300} {
				o := contractOptions()
				o.Format, o.Features, o.Future = format, features, 0
				made := func() (*Decoder, *ScoreEncoder) {
					e, err := NewScoreEncoder(o)
					if err != nil {
						t.Fatal(err)
					}
					return mustDecoder(t, o), e
				}
				d, e := made()
				for k := range 3 * len(all) {
					x := all[k*5%len(all)]
					got := answer(t, d, e, x, limit)
					if k%2 == 0 {
						d.Release()
					}
					fresh, encoder := made()
					want := answer(t, fresh, encoder, x, limit)
					for i := range want {
						if i >= len(got) || got[i] != want[i] {
							t.Fatalf("format %d, features %d, limit %d: message %d, %s: answer %d is\n%q\nof a new one\n%q", format,
								features, limit, k, x.name, i, got[min(i, len(got)-1)], want[i])
						}
					}
				}
			}
		}
	}
}

// TestPartsAreAsLargeAsTheyMayBe: a message of exactly the limit is one part, one byte less makes two; a row that
// exceeds it alone is left out, by its number, and forgotten with the next message.
func TestPartsAreAsLargeAsTheyMayBe(t *testing.T) {
	for _, format := range []Format{FormatArrow, FormatJSONL} {
		o := contractOptions()
		o.Format = format
		whole, _ := partsOf(t, o, 10, 10, 0, 0)
		size := len(whole) - len("before")
		for limit, want := range map[int]int{size + 1: 1, size: 1, size - 1: 2} {
			value, parts := partsOf(t, o, 10, 10, limit, 0)
			if len(parts) != want || want == 1 && !bytes.Equal(value, whole) {
				t.Errorf("format %d: %d bytes under a limit of %d are %d parts", format, size, limit, len(parts))
			}
		}
		e, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		b := &model.Batch{N: 5, Time: make([]int64, 5), Row: []int32{0, 1, 2, 3, 4},
			ID: []string{"a", "b", strings.Repeat("c", 8000), "d", "e"}}
		for _, limit := range []int{7000, 0, 7000} {
			e.Begin(nil, limit)
			if _, err := e.Add(nil, b, scoresOf(5), model.NewLevels(o.Schema), 0); err != nil {
				t.Fatal(err)
			}
			parts, lost := e.Parts()
			rows := 0
			for _, p := range parts {
				rows += p.Rows
			}
			if want := []int{2}; limit > 0 && (!reflect.DeepEqual(lost, want) || rows != 4) || limit == 0 && (len(lost) > 0 ||
				rows != 5) {
				t.Errorf("format %d, limit %d: %d rows, %v are left out", format, limit, rows, lost)
			}
		}
	}
}

// TestAScoreInFull: each column of a row has its own value, and each figure that is not known is null by itself.
func TestAScoreInFull(t *testing.T) {
	o := contractOptions()
	o.Format = FormatJSONL
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	levels := model.NewLevels(o.Schema)
	levels.Code(2, "red")
	nan := math.NaN()
	s := &model.Scores{}
	s.Reset(2, 2)
	s.Model = 3
	s.Status[0], s.Reason[0], s.Segment[0], s.Target[0] = model.StatusDegraded, "no_local", 0, 1
	s.P[0], s.P[1], s.P[2], s.P[3] = .25, .75, nan, math.Inf(1)
	s.BaseRate[0], s.Lift[0], s.Percentile[0] = .5, 1.5, .875
	s.BaseRate[1], s.Lift[1], s.Percentile[1] = nan, math.Inf(1), float32(nan)
	s.Segment[1], s.Target[1] = -1, -1
	s.Profile[0], s.ProfileLift[0] = "x=1", 4.5
	s.Subspace, s.Relevance = []int32{2, 0}, []float32{.5, .25}
	s.SubspaceEnd[0], s.SubspaceEnd[1] = 2, 2
	s.Why = []model.Reason{{Feature: 0, Value: 7.5, Effect: 1, Lift: 2, N: nan},
		{Feature: 2, Value: 0, Effect: .5, Lift: nan, N: 6},
		{Feature: model.TermIntercept, Effect: -1, Lift: nan, N: nan}, {Feature: 1, Value: nan, Effect: .125, Lift: 3,
			N: 4}}
	s.WhyEnd[0], s.WhyEnd[1] = 4, 4
	b := &model.Batch{N: 2, ID: []string{"a", "b"}, Time: []int64{1e9, 2e9}, Row: []int32{8, 9}, Partition: 5, Offset: 6}
	got, err := enc.Encode(nil, b, s, levels, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"a","time":"1970-01-01T00:00:01Z","source_partition":5,"source_offset":6,"source_row":8,"model":3,` +
		`"status":"degraded","reason":"no_local","segment":"no","target":"1","propensity_no":0.25,"propensity_1":0.75,` +
		`"base_rate":0.5,"lift":1.5,"percentile":0.875,"subspace":["color","x"],"relevance":[0.5,0.25],"profile":"x=1",` +
		`"profile_lift":4.5,"why":[{"feature":"x","value":"7.5","effect":1,"lift":2,"n":null},` +
		`{"feature":"color","value":"red","effect":0.5,"lift":null,"n":6},` +
		`{"feature":"(intercept)","value":null,"effect":-1,"lift":null,"n":null},` +
		`{"feature":"size","value":null,"effect":0.125,"lift":3,"n":4}]}` + "\n" +
		`{"id":"b","time":"1970-01-01T00:00:02Z","source_partition":5,"source_offset":6,"source_row":9,"model":3,` +
		`"status":"ok","reason":null,"segment":null,"target":null,"propensity_no":null,"propensity_1":null,` +
		`"base_rate":null,"lift":null,"percentile":null,"subspace":[],"relevance":[],"profile":null,` +
		`"profile_lift":null,"why":[]}` + "\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestADamagedMessageSpoilsNoOther: after each damage the same decoder reads a good message as before.
func TestADamagedMessageSpoilsNoOther(t *testing.T) {
	o := contractOptions()
	o.Future = 0
	good := encodeStream(t, []arrow.Record{record(t, contractFields, contractRows)})
	d := mustDecoder(t, o)
	decode := func(value []byte) (string, bool) {
		var b model.Batch
		bad, err := d.Decode(&Message{Value: value}, &b, nil)
		return fmt.Sprintf("%+v %+v %v", b, bad, d.Changes()), err == nil
	}
	want, ok := decode(good)
	reasons := 0
	for at := 0; at < len(good); at += 3 {
		torn := bytes.Clone(good)
		torn[at] ^= 0x55
		if _, ok := decode(torn); !ok {
			reasons++
		}
		if got, again := decode(good); !ok || !again || got != want {
			t.Fatalf("after damage at byte %d: %v\n%s\nwant\n%s", at, again, got, want)
		}
	}
	if reasons < 20 {
		t.Errorf("%d damages were refused", reasons)
	}
}
