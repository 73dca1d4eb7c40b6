package codec

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// TestAnswersAreTheTable: columns and values of answers are those of the table of the same scores, whatever batch and
// input came before, with every column that scores may have.
func TestAnswersAreTheTable(t *testing.T) {
	o, b, s, levels := oddScores()
	o.Goals, o.GoalReasons = []Goal{{"clicked", []string{"no", "yes"}}}, true
	s.Goals, s.GoalLift, s.GoalWhyEnd = []float64{.5, .25, 1, 0}, []float64{2, 1, 0, 3}, []int32{1, 1, 2, 2}
	s.GoalWhy = s.Why[:2]
	none := &model.Scores{}
	none.Reset(4, 3)
	copy(none.Status, []model.Status{1, 1, 1, 1})
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	texts := arrow.BinaryTypes.String
	instant := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	for k, c := range []struct {
		s        *model.Scores
		who, at  arrow.DataType
		whoOf    string
		infinite bool
	}{{s, texts, instant, `"a"`, false}, {none, texts, instant, `"a"`, false},
		{s, arrow.PrimitiveTypes.Int64, texts, "7", true}, {s, texts, instant, `"Zo\u00eb \"<"`, false}} {
		at := `"2024-05-01T00:00:00Z"`
		var rows string
		for i := range 4 {
			if i > 0 {
				rows += ", "
			}
			rows += fmt.Sprintf(`{"who": %s, "at": %s, "emp.rate": %d, "2nd job": "x"}`, c.whoOf, at, i)
		}
		rec := record(t, []arrow.Field{field("who", c.who), field("at", c.at), field("emp.rate", arrow.PrimitiveTypes.Int64),
			field("2nd job", texts)}, "["+rows+"]")
		d := mustDecoder(t, o)
		var carry Carry
		batch := *b
		if bad, err := d.DecodeTable(NewTable(rec), 0, &Message{Offset: -1}, &batch, &carry); err != nil || len(bad) > 0 {
			t.Fatal(err, bad)
		}
		if c.infinite {
			c.s.Lift[0] = math.Inf(1)
		}
		other, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := other.Table(&batch, c.s, levels, &carry)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Answers(&batch, c.s, levels, &carry)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Columns()) != fmt.Sprint(want.Columns()) {
			t.Errorf("message %d: columns\n%v\nwant\n%v", k, got.Columns(), want.Columns())
		}
		for i, x := range want.Columns() {
			if got.Column(x.Name) != i {
				t.Errorf("column %s is %d, want %d", x.Name, got.Column(x.Name), i)
			}
			for row := range want.Rows() {
				g, w := got.AppendValue(nil, i, row), want.AppendValue(nil, i, row)
				if string(g) != string(w) {
					t.Errorf("message %d, column %s, row %d: %s, want %s", k, x.Name, row, g, w)
				}
			}
		}
	}
	if e.answers.Column("nobody") != -1 {
		t.Error("there is a column of no name")
	}
	if _, err := e.Answers(b, s, levels, nil); err == nil {
		t.Error("there are answers without a message")
	}
	if _, err := e.Answers(b, s, levels, &Carry{recs: make([]arrow.Record, 1), rows: 3}); err == nil {
		t.Error("there are answers of 4 records for a message of 3")
	}
}
