package page

import (
	"encoding/json"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/groups"
)

// TestPageShowsGroups: as a table and as JSON, escaped; each record once though its message is seen twice; and nothing
// of groups where there are none.
func TestPageShowsGroups(t *testing.T) {
	src := hostileSource(0)
	s := server(t, src)
	if html, _ := get(t, s.URL); strings.Contains(html, "By group") {
		t.Error("a page without groups shows some")
	}
	schema := *src.Board.schema
	schema.Features = append([]model.Feature(nil), schema.Features...)
	level := -1
	for f := range schema.Features {
		if schema.Features[f].Kind == model.Nominal {
			level, schema.Features[f].Use = f, model.UseReport
		}
	}
	segment := groups.Segment{Name: "<u>all</u>", Condition: groups.Condition{Feature: level, Operator: groups.NotEqual}}
	src.Board.Groups = groups.NewTally(&schema, []groups.Segment{segment}, 20)
	b, out, l := scored(src.Board.schema, 0, 0, 60)
	b.Columns = []model.Column{{Float: make([]float64, 60)},
		{Code: make([]uint32, 60), Levels: []string{"<b>student</b>"}}}
	src.Board.Scores(0, b, out, l)
	src.Board.Scores(0, b, out, l)
	s = server(t, src) // a page is at most a second old
	html, _ := get(t, s.URL)
	for _, want := range []string{"By group", "&lt;u&gt;all", schema.Features[level].Name + "</th>", "(all)"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	if strings.Contains(html, "<u>all") {
		t.Error("a segment's name is not escaped")
	}
	text, _ := get(t, s.URL+"/api/live")
	var live struct{ Groups groups.View }
	if err := json.Unmarshal([]byte(text), &live); err != nil || live.Groups.All.Records != 60 ||
		len(live.Groups.Segments) != 1 || live.Groups.Segments[0].Records != 60 {
		t.Errorf("%v, groups %+v", err, live.Groups)
	}
}
