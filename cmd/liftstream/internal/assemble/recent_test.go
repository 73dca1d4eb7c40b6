package assemble

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/recency"
)

// coming is a configuration of features of former records.
const coming = `
name: shop
record:
  id: who
  time: {column: at, unit: s}
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: spent, kind: continuous}
    - {name: kind, kind: nominal, use: report}
    - {name: visits, kind: continuous, cuts: [0, 1, 3]}
derive:
  last: since_last()
  visits: "count( 7d, kind = visit )"
  day: count(24h)
  hour: hour(time)
output: {features: all}
local: off
kernel: off
trees: off
`

// TestEveryConditionHasAGroup: a configuration cannot ask for more conditions than a state can hold.
func TestEveryConditionHasAGroup(t *testing.T) {
	if config.MaxDerived > recency.MaxGroups {
		t.Errorf("%d derived features, but %d groups of former records", config.MaxDerived, recency.MaxGroups)
	}
}

// TestFormerRecordsOfFilesAndMessages: messages of a stage and files give the same features, and scores hand them on.
func TestFormerRecordsOfFilesAndMessages(t *testing.T) {
	s := stage(t, coming)
	d := s.Config.Derive
	if d["visits"] != "count(7d, kind=visit)" || d["day"] != "count(1d)" || d["last"] != "since_last()" {
		t.Errorf("canonical forms: %v", d)
	}
	const text = "who,at,class,spent,kind\n" +
		"a,1774747800,no,1,visit\nb,1774747800,no,2,buy\na,1774747860,yes,3,buy\na,1774747860,no,4,visit\n" +
		"a,1774834259,no,5,visit\na,1774834260,no,6,visit\nb,1775439600,yes,8,visit\n"
	want := [][]string{ // visits, day, last
		{"0", "0", "-"}, {"0", "0", "-"}, {"1", "1", "60"}, {"1", "2", "0"}, {"2", "2", "86399"}, {"3", "1", "1"},
		{"0", "0", "691800"},
	}
	schema := s.Spec.Schema
	picked := func(rows [][]string) (out [][]string) {
		for _, r := range rows {
			out = append(out, []string{r[schema.Feature("visits")], r[schema.Feature("day")], r[schema.Feature("last")]})
		}
		return out
	}
	if got := picked(read(t, s, text)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("from a file\n%v\nwant\n%v", got, want)
	}
	live, handed := messages(t, s, text)
	if got := picked(live); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("live\n%v\nwant\n%v", got, want)
	}
	for i, r := range picked(handed) {
		for k, v := range r {
			if v != want[i][k] && !(v == "" && want[i][k] == "-") {
				t.Errorf("record %d hands on %v, want %v", i, r, want[i])
			}
		}
	}
}

// TestRecencyUnderTheSchemaOfAState: the windows and conditions are those of the state's schema.
func TestRecencyUnderTheSchemaOfAState(t *testing.T) {
	a, b := stage(t, coming), stage(t, strings.Replace(coming, "day: count(24h)", "day: count(2d)", 1))
	if a.Spec.Options.Fingerprint == b.Spec.Options.Fingerprint || a.Spec.Options.Frame != b.Spec.Options.Frame {
		t.Error("the fingerprint is the same, or the frame another one")
	}
	c := stage(t, coming+"memory: {recency: 1MiB}\n")
	if a.Spec.Options.Fingerprint == c.Spec.Options.Fingerprint || a.Spec.Options.Frame != c.Spec.Options.Frame ||
		c.Spec.Options.Recency.Bytes != 1<<20 {
		t.Error("another bound has the same fingerprint, or another frame")
	}
	spec, columns, err := b.Under(a.Spec.Schema, 1)
	if err != nil {
		t.Fatal(err)
	}
	var windows []int64
	for _, f := range spec.Options.Recency.Features {
		windows = append(windows, f.Window/86400e9)
	}
	if slices.Sort(windows); !slices.Equal(windows, []int64{0, 1, 7}) || columns.Recency != spec.Options.Recency {
		t.Errorf("windows of %v days", windows)
	}
	plain := stage(t, deriving)
	if plain.Spec.Options.Recency != nil || plain.Codec.Recency != nil {
		t.Error("a configuration without such features remembers ids")
	}
	var sections []string
	for name := range model.NewPartition(plain.Spec, 0).Snapshot() {
		sections = append(sections, name)
	}
	if slices.ContainsFunc(sections, func(name string) bool { return strings.HasPrefix(name, "recency") }) {
		t.Errorf("sections %v", sections)
	}
	o := a.Codec
	o.Recency = nil
	if _, err := codec.NewDecoder(o); err == nil {
		t.Error("a decoder of features that nobody fills was made")
	}
}
