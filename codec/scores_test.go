package codec

import (
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

// TestScoreReader reads the values of an encoded row back by column.
func TestScoreReader(t *testing.T) {
	o := contractOptions()
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 1, ID: []string{"a"}, Time: []int64{7e9}, Row: []int32{4}, Partition: 1, Offset: 2}
	s := &model.Scores{}
	s.Reset(1, 2)
	s.Model, s.Target[0], s.Segment[0] = 9, 1, -1
	s.P[0], s.P[1], s.Lift[0] = .25, .75, 3
	table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewScoreReader(table, o.Schema.Classes)
	if err != nil {
		t.Fatal(err)
	}
	if p, offset, row := r.Place(0); p != 1 || offset != 2 || row != 4 {
		t.Errorf("place %d/%d/%d, want 1/2/4", p, offset, row)
	}
	if r.Propensity(0, 0) != .25 || r.Propensity(1, 0) != .75 {
		t.Errorf("propensities %v and %v", r.Propensity(0, 0), r.Propensity(1, 0))
	}
	if v, ok := r.Float(ScoreLift, 0); v != 3 || !ok {
		t.Errorf("lift %v, %v", v, ok)
	}
	if v, ok := r.Int(ScoreTime, 0); v != 7e9 || !ok {
		t.Errorf("time %v, %v", v, ok)
	}
	for c, want := range map[Score]string{ScoreID: "a", ScoreModel: "9", ScoreTarget: "1", ScoreSegment: "",
		ScoreStatus: "ok"} {
		if got := r.Kept(c, 0); got != want {
			t.Errorf("%v is %q, want %q", c, got, want)
		}
	}
	if _, ok := r.Text(ScoreSegment, 0); ok {
		t.Error("a segment below 0 is not null")
	}
	if _, err := NewScoreReader(table, []string{"other"}); err == nil || !strings.Contains(err.Error(),
		"propensity_other") {
		t.Errorf("without the column of a class: %v", err)
	}
	var names []string
	for _, c := range table.Columns() {
		names = append(names, c.Name)
	}
	if want := ScoreNames(o.Schema.Classes); !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	o.ID = ""
	if enc, err = NewScoreEncoder(o); err != nil {
		t.Fatal(err)
	}
	if table, err = enc.Table(b, s, model.NewLevels(o.Schema), nil); err != nil {
		t.Fatal(err)
	}
	if r, err = NewScoreReader(table, o.Schema.Classes); err != nil || r.Kept(ScoreID, 0) != "" {
		t.Errorf("without ids: id %q, %v", r.Kept(ScoreID, 0), err)
	}
}

// TestControlColumn: it stands after the reasons, where the options ask for it, and is a boolean in Arrow and JSON.
func TestControlColumn(t *testing.T) {
	o := contractOptions()
	o.ID, o.Time, o.Control, o.Format = "", "", true, FormatJSONL
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 3, Time: make([]int64, 3), Row: []int32{0, 1, 2}}
	s := &model.Scores{}
	s.Reset(3, 2)
	levels := model.NewLevels(o.Schema)
	for _, flags := range [][]bool{{true, false, true}, {false, true, true}, nil} {
		s.Control = flags
		table, err := enc.Table(b, s, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		columns := table.Columns()
		if last := columns[len(columns)-1]; last.Name != "control" || last.Type != "bool" {
			t.Fatalf("the last column is %+v", last)
		}
		for i := range 3 {
			want := "false"
			if i < len(flags) && flags[i] {
				want = "true"
			}
			if line := string(table.AppendJSON(nil, i)); !strings.HasSuffix(line, `"control":`+want+`}`) {
				t.Errorf("flags %v: row %d is %s", flags, i, line)
			}
		}
	}
}

// lastColumns checks the end of the lines of two scores, which set fills.
func lastColumns(t *testing.T, o Options, set func(s *model.Scores), want ...string) {
	t.Helper()
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 2, ID: []string{"a", "b"}, Time: make([]int64, 2), Row: []int32{0, 1}}
	s := &model.Scores{}
	s.Reset(2, 2)
	set(s)
	table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range want {
		if line := string(table.AppendJSON(nil, i)); !strings.HasSuffix(line, want) {
			t.Errorf("row %d is %s, want %s", i, line, want)
		}
	}
}

// TestUpliftColumns: they stand at the end, and are null where nothing is known.
func TestUpliftColumns(t *testing.T) {
	o := contractOptions()
	o.Control, o.Uplift = true, true
	nan := math.NaN()
	lastColumns(t, o, func(s *model.Scores) {
		s.Uplift = []model.Uplift{{Value: .25, Low: -.5, High: .75}, {Value: nan, Low: nan, High: nan}}
	}, `"control":false,"uplift":0.25,"uplift_low":-0.5,"uplift_high":0.75}`,
		`"control":false,"uplift":null,"uplift_low":null,"uplift_high":null}`)
}
