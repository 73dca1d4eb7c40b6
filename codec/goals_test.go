package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

func goalOptions(in Input) Options {
	return Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Positive: 1,
		Features: []model.Feature{{Name: "x", Kind: model.Continuous}}}, ID: "who", Label: "y", Missing: []string{"", "NA"},
		Goals: []Goal{{"clicked", []string{"no", "yes"}}, {"left", []string{"0", "1"}}}, Input: in}
}

// shown writes class and goals of a row: - for unknown, ? for a text that is no class.
func shown(class int32, o []model.Outcomes, i int) (out string) {
	classes := []int32{class, -1, -1}
	if o != nil {
		classes[1], classes[2] = o[i].Of(0), o[i].Of(1)
	}
	for _, c := range classes {
		out += map[int32]string{-2: "?", -1: "-", 0: "0", 1: "1"}[c]
	}
	return out
}

// TestGoalsOfEvents: the columns of goals are read as the label's is, and each may be absent or null.
func TestGoalsOfEvents(t *testing.T) {
	o := goalOptions(InputJSONL)
	for _, c := range []struct{ lines, want string }{
		{`{"who":"a","x":1,"y":"yes","clicked":"no","left":1}`, "101"},
		{`{"who":"a","x":1}`, "---"},
		{`{"who":"a","x":1,"left":true}`, "--1"},
		{`{"who":"a","x":1,"y":null,"clicked":"yes","left":null}`, "-1-"},
		{`{"who":"a","x":1,"clicked":"NA","left":"maybe"}`, "--?"},
		{"{\"who\":\"a\",\"x\":1,\"left\":0}\n{\"who\":\"b\",\"x\":\"bad\",\"left\":1}\n" +
			"{\"who\":\"c\",\"x\":1,\"clicked\":\"yes\"}", "--0 -1-"},
	} {
		var b model.Batch
		if _, err := mustDecoder(t, o).Decode(&Message{Value: []byte(c.lines)}, &b, nil); err != nil {
			t.Errorf("%s: %v", c.lines, err)
			continue
		}
		var got []string
		for i := range b.N {
			got = append(got, shown(b.Label[i], b.Outcomes, i))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.lines, got, c.want)
		}
	}
}

// TestAGoalHasNothingOfTheMessageBefore: where a message lacks the column of a goal its records have no outcome of it,
// though those of the message before had some, in a batch that serves again.
func TestAGoalHasNothingOfTheMessageBefore(t *testing.T) {
	d := mustDecoder(t, goalOptions(InputArrow))
	who, x := field("who", arrow.BinaryTypes.String), field("x", arrow.PrimitiveTypes.Float64)
	clicked, left := field("clicked", arrow.BinaryTypes.String), field("left", arrow.PrimitiveTypes.Int64)
	var b model.Batch
	for _, c := range []struct {
		goals     []arrow.Field
		row, want string
	}{
		{[]arrow.Field{clicked, left}, `, "clicked": "yes", "left": 1`, "-11"}, {[]arrow.Field{left}, `, "left": 0`, "--0"},
		{[]arrow.Field{clicked}, `, "clicked": "no"`, "-0-"}, {nil, "", "---"},
		{[]arrow.Field{clicked}, `, "clicked": "yes"`, "-1-"},
	} {
		rec := record(t, append([]arrow.Field{who, x}, c.goals...), `[{"who": "a", "x": 1`+c.row+`}]`)
		if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil {
			t.Fatal(err)
		}
		if got := shown(b.Label[0], b.Outcomes, 0); got != c.want {
			t.Errorf("goals %s: %s, want %s", c.row, got, c.want)
		}
	}
}

// TestGoalsOfLabels: a row that tells one label is a label, a row that tells none is bad, and a message without the
// column of any is dead.
func TestGoalsOfLabels(t *testing.T) {
	for _, c := range []struct {
		lines, want string
		bad         int
	}{
		{`{"who":"a","y":"yes"}`, "1--", 0},
		{`{"who":"a","clicked":"no"}`, "-0-", 0},
		{"{\"who\":\"a\",\"clicked\":null,\"left\":null}\n{\"who\":\"b\",\"left\":\"1\"}", "--1", 1},
		{"{\"who\":\"a\",\"clicked\":\"maybe\"}\n{\"who\":\"b\",\"y\":\"no\",\"clicked\":\"maybe\"}", "0?-", 1},
	} {
		var l model.Labels
		bad, err := mustDecoder(t, goalOptions(InputJSONL)).DecodeLabels(&Message{Value: []byte(c.lines)}, &l)
		if err != nil {
			t.Errorf("%s: %v", c.lines, err)
			continue
		}
		var got []string
		for i := range l.N {
			got = append(got, shown(l.Class[i], l.Outcomes, i))
		}
		if strings.Join(got, " ") != c.want || len(bad) != c.bad || c.bad > 0 && bad[0].Reason != ReasonLabel {
			t.Errorf("%s: %s with bad rows %v, want %s and %d", c.lines, got, bad, c.want, c.bad)
		}
	}
}

// TestLabelsOfOneGoal: the column of any one goal makes a message one of labels, whichever goal it is; without the
// label and without a goal it is dead.
func TestLabelsOfOneGoal(t *testing.T) {
	who := field("who", arrow.BinaryTypes.String)
	for column, want := range map[string]string{"clicked": "-1-", "left": "--1", "y": "1--", "other": ""} {
		text := "yes"
		if column == "left" {
			text = "1"
		}
		row := `[{"who": "a", "` + column + `": "` + text + `"}]`
		rec := record(t, []arrow.Field{who, field(column, arrow.BinaryTypes.String)}, row)
		var l model.Labels
		bad, err := mustDecoder(t, goalOptions(InputArrow)).DecodeLabels(
			&Message{Value: encodeStream(t, []arrow.Record{rec})}, &l)
		if want == "" {
			if e := (*MessageError)(nil); !errors.As(err, &e) || e.Reason != ReasonSchema {
				t.Errorf("%s: %v", column, err)
			}
			continue
		}
		if err != nil || len(bad) > 0 || l.N != 1 || shown(l.Class[0], l.Outcomes, 0) != want {
			t.Errorf("%s: %v, bad rows %v, %d labels", column, err, bad, l.N)
		}
	}
}

// TestGoalsOfScores: the column of a goal follows the columns of every stage, null where nothing is known, and a stage
// without goals has none.
func TestGoalsOfScores(t *testing.T) {
	o := goalOptions(InputJSONL)
	o.Format = FormatJSONL
	encode := func(goals []float64) string {
		e, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		s := &model.Scores{}
		s.Reset(2, 2)
		s.Goals = goals
		b := &model.Batch{N: 2, Columns: []model.Column{{Float: []float64{1, 2}}}, Label: []int32{-1, -1},
			Row: []int32{0, 1}, ID: []string{"a", "b"}}
		out, err := e.Encode(nil, b, s, model.NewLevels(o.Schema), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	lines := strings.Split(encode([]float64{.25, .5, .75, 1}), "\n")
	for i, want := range []string{`"propensity_clicked":0.25,"propensity_left":0.5}`,
		`"propensity_clicked":0.75,"propensity_left":1}`} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("row %d is %s, want %s at its end", i, lines[i], want)
		}
	}
	if got := encode(nil); strings.Count(got, `"propensity_left":null`) != 2 {
		t.Errorf("without propensities of goals: %s", got)
	}
	o.Goals = nil
	if got := encode(nil); strings.Contains(got, "clicked") {
		t.Errorf("without goals: %s", got)
	}
}

// TestGoalsHaveColumnsOfTheirOwn: a goal in the column of a feature or of the label is refused.
func TestGoalsHaveColumnsOfTheirOwn(t *testing.T) {
	for _, name := range []string{"x", "y", "who"} {
		o := goalOptions(InputArrow)
		o.Goals = slices.Concat(o.Goals, []Goal{{name, []string{"no", "yes"}}})
		if _, err := NewDecoder(o); err == nil || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("goal %s: %v", name, err)
		}
	}
}

// goalScores are two records with reasons of the first of two goals.
func goalScores() (Options, *model.Batch, *model.Scores) {
	o := goalOptions(InputJSONL)
	o.GoalReasons, o.Format = true, FormatJSONL
	s := &model.Scores{}
	s.Reset(2, 2)
	s.Goals = []float64{.25, .5, .75, 1}
	s.GoalLift = []float64{2, math.NaN(), .5, math.NaN()}
	s.GoalWhy = []model.Reason{{Feature: 0, Value: 7, Effect: 1.5, Lift: 2, N: 9},
		{Feature: 0, Value: math.NaN(), Effect: -1, Lift: math.NaN(), N: 3}}
	s.GoalWhyEnd = []int32{1, 1, 2, 2}
	return o, &model.Batch{N: 2, Columns: []model.Column{{Float: []float64{1, 2}}}, Label: []int32{-1, -1},
		Row: []int32{0, 1}, ID: []string{"a", "b"}}, s
}

// TestReasonsOfGoalsInAvro: the messages are those of JSON lines, read by the schema of the registry.
func TestReasonsOfGoalsInAvro(t *testing.T) {
	o, b, s := goalScores()
	levels := model.NewLevels(o.Schema)
	want := strings.Split(strings.TrimSpace(string(bytes.Join(messages(t, o, b, s, levels, nil), nil))), "\n")
	o.Format, o.Frame = FormatAvro, &Frame{}
	o.Frame.Set(7)
	parsed(t, o)
	text, err := ScoreSchema(o)
	if err != nil {
		t.Fatal(err)
	}
	reader := Plain{Schemas: schemas{7: text}}
	var got []string
	for _, value := range messages(t, o, b, s, levels, nil) {
		line, err := reader.Line(value, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	sameRows(t, "avro", b, got, want)
}

// TestReasonsOfGoals: with GoalReasons the lift and the reasons of each goal follow all propensities, null where no
// model knows the goal, in every format; Avro defines their record once.
func TestReasonsOfGoals(t *testing.T) {
	o, b, s := goalScores()
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Encode(nil, b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for i, want := range []string{
		`"propensity_left":0.5,"lift_clicked":2,"why_clicked":[{"feature":"x","value":"7","effect":1.5,"lift":2,"n":9}],` +
			`"lift_left":null,"why_left":null}`,
		`"propensity_left":1,"lift_clicked":0.5,"why_clicked":[{"feature":"x","value":null,"effect":-1,"lift":null,"n":3}],` +
			`"lift_left":null,"why_left":null}`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("row %d is %s, want %s at its end", i, lines[i], want)
		}
	}
	// A stage that was asked for them later has scores of a model that lacks them: they are null.
	s.GoalLift, s.GoalWhy, s.GoalWhyEnd = nil, nil, nil
	if out, err = e.Encode(nil, b, s, model.NewLevels(o.Schema), nil); err != nil ||
		strings.Count(string(out), `"why_clicked":null`) != 2 {
		t.Errorf("%v, %s", err, out)
	}
	for _, format := range []Format{FormatAvro, FormatJSON} {
		o.Format = format
		schema, err := ScoreSchema(o)
		if err != nil || !strings.Contains(schema, "why_left") || strings.Count(schema, `"name":"Reason"`) > 1 {
			t.Errorf("%v: %v, %s", format, err, schema)
		}
	}
}
