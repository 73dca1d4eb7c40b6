package audience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/evaluate"
)

func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// linesOf chooses from files and returns the rows as JSON lines.
func linesOf(t *testing.T, c Choice, paths ...string) (string, *Audience, error) {
	t.Helper()
	if c.Most == 0 {
		c.Most = 1 << 20
	}
	a, err := Choose(context.Background(), Files(cli.New(nil, io.Discard, io.Discard), paths), c)
	if err != nil {
		return "", nil, err
	}
	var b []byte
	err = a.Write(context.Background(), func(t *codec.Table) error {
		for i := range t.Rows() {
			b = append(t.AppendJSON(b, i), '\n')
		}
		return nil
	})
	return string(b), a, err
}

const plain = `{"id":"a","source_partition":0,"source_offset":0,"source_row":0,"segment":"no","target":"yes",` +
	`"propensity_no":0.75,"propensity_yes":0.25,"base_rate":0.125,"lift":2,"percentile":0.5,` +
	`"why":[{"feature":"age","value":null,"effect":1.5,"lift":null,"n":3}]}
{"id":"b","source_partition":0,"source_offset":0,"source_row":1,"segment":"no","target":"no",` +
	`"propensity_no":0.5,"propensity_yes":0.5,"base_rate":0.875,"lift":0.5,"percentile":0.25,` +
	`"why":[{"feature":"age","value":"7","effect":1.5,"lift":2,"n":3}]}
{"id":"","source_partition":0,"source_offset":0,"source_row":2,"propensity_no":0.1,"propensity_yes":0.9}
{"id":"a","source_partition":0,"source_offset":0,"source_row":3,"status":"untrained","segment":"yes","target":"yes",` +
	`"propensity_no":0.625,"propensity_yes":0.375,"base_rate":0.375,"lift":null,"percentile":null,"why":null}
{"id":"c","source_partition":0,"source_offset":0,"source_row":4,"propensity_no":null,"propensity_yes":null}
{"id":"d","source_partition":0,"source_offset":0,"source_row":5,"propensity_no":-1,"propensity_yes":2}
`

// TestRows: the newest score counts; columns of another target are null, but for the base rate of two classes.
func TestRows(t *testing.T) {
	got, a, err := linesOf(t, Choice{Class: "yes", With: With{Untrained: true}}, fileOf(t, "s.jsonl", plain))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"b","rank":1,"segment":"no","target":"yes","propensity":0.5,"base_rate":0.125,"lift":4,` +
		`"percentile":null,"why":null}
{"id":"a","rank":2,"segment":"yes","target":"yes","propensity":0.375,"base_rate":0.375,"lift":null,"percentile":null,` +
		`"why":null}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if s := a.Summary; a.NoID != 1 || s.Unknown != 2 || s.Untrained != 0 || s.IDs != 4 || s.N != 2 {
		t.Errorf("%d without an id, %+v", a.NoID, s)
	}
	got, _, err = linesOf(t, Choice{Class: "yes", Cut: Cut{Top: 1}}, fileOf(t, "s.jsonl", strings.SplitAfter(plain,
		"\n")[0]))
	want = `{"id":"a","rank":1,"segment":"no","target":"yes","propensity":0.25,"base_rate":0.125,"lift":2,` +
		`"percentile":0.5,"why":[{"feature":"age","value":null,"effect":1.5,"lift":null,"n":3}]}` + "\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%swant\n%s", err, got, want)
	}
}

// TestBoundsOfIntervalsAreNoClasses: two classes stay two where scores have intervals, and classes may be named like
// the bounds.
func TestBoundsOfIntervalsAreNoClasses(t *testing.T) {
	sure := `{"id":"a","target":"yes","propensity_no":0.75,"propensity_yes":0.25,"base_rate":0.125,"lift":2,` +
		`"propensity_low":0.125,"propensity_high":0.5}` + "\n"
	got, a, err := linesOf(t, Choice{Class: "no"}, fileOf(t, "s.jsonl", sure))
	if err != nil || !strings.Contains(got, `"base_rate":0.875,"lift":0.857`) {
		t.Errorf("%v, classes %v, %s", err, a, got)
	}
	_, _, err = linesOf(t, Choice{Class: "low"}, fileOf(t, "s.jsonl", sure))
	if err == nil || !strings.Contains(err.Error(), "low no class; its classes are no, yes") {
		t.Errorf("a bound is taken for a class: %v", err)
	}
	named := `{"id":"a","target":"low","propensity_low":0.75,"propensity_high":0.25,"base_rate":0.875,"lift":2}`
	if got, _, err = linesOf(t, Choice{Class: "high"}, fileOf(t, "s.jsonl", named)); err != nil ||
		!strings.Contains(got, `"propensity":0.25,"base_rate":0.125,"lift":2`) {
		t.Errorf("classes named like bounds: %v, %s", err, got)
	}
}

// TestAudienceOfAGoal: a goal is chosen by its own propensities, with its own lift and reasons where the scores have
// them, and the classes of the label stay two beside it.
func TestAudienceOfAGoal(t *testing.T) {
	row := func(id, p, rest string) string {
		return `{"id":"` + id + `","status":"ok","target":"yes","propensity_no":0.75,"propensity_yes":0.25,` +
			`"base_rate":0.125,"lift":2,"percentile":0.5,"why":[],"propensity_low":0.125,"propensity_high":0.5,` +
			`"propensity_clicks":` + p + rest + "}\n"
	}
	plain := fileOf(t, "s.jsonl", row("a", "0.25", "")+row("b", "0.5", ""))
	got, a, err := linesOf(t, Choice{Class: "clicks", Cut: Cut{Top: 1}}, plain)
	want := `{"id":"b","rank":1,"segment":null,"target":"clicks","propensity":0.5,"base_rate":null,"lift":null,` +
		`"percentile":null,"why":null}` + "\n"
	if err != nil || got != want || a.Summary.Untrained != 0 {
		t.Errorf("got %v\n%swant\n%s", err, got, want)
	}
	if got, _, err = linesOf(t, Choice{Class: "no", Cut: Cut{Top: 1}}, plain); err != nil ||
		!strings.Contains(got, `"base_rate":0.875,"lift":0.857`) {
		t.Errorf("the class no beside a goal: %v, %s", err, got)
	}
	_, _, err = linesOf(t, Choice{Class: "leaves"}, plain)
	if err == nil || !strings.Contains(err.Error(), "its classes are no, yes, and its goals clicks") {
		t.Errorf("another goal: %v", err)
	}
	// With reasons, a score of before the goal's first model has no lift: its propensity is a base rate.
	why := `,"lift_clicks":2,"why_clicks":[{"feature":"age","value":"7","effect":1.5,"lift":2,"n":3}]`
	told := fileOf(t, "s.jsonl", row("a", "0.25", why)+row("b", "0.5", `,"lift_clicks":null,"why_clicks":null`))
	got, a, err = linesOf(t, Choice{Class: "clicks", Goal: true, Classes: []string{"no", "yes"}}, told)
	want = `{"id":"a","rank":1,"segment":null,"target":"clicks","propensity":0.25,"base_rate":0.125,"lift":2,` +
		`"percentile":null,"why":[{"feature":"age","value":"7","effect":1.5,"lift":2,"n":3}]}` + "\n"
	if err != nil || got != want || a.Summary.Untrained != 1 {
		t.Errorf("got %v, %+v\n%swant\n%s", err, a.Summary, got, want)
	}
	// A score that no model has made is a base rate of the goal too, whether scores have lifts of the goal or none.
	for name, rest := range map[string]string{"no lifts": "", "a lift": why} {
		untrained := strings.Replace(row("b", "0.5", rest), `"status":"ok"`, `"status":"untrained"`, 1)
		got, a, err = linesOf(t, Choice{Class: "clicks"}, fileOf(t, "s.jsonl", row("a", "0.25", rest)+untrained))
		if err != nil || a.Summary.Untrained != 1 || a.Summary.N != 1 || !strings.Contains(got, `{"id":"a"`) {
			t.Errorf("untrained, %s: %v, %+v, %s", name, err, a.Summary, got)
		}
	}
	flat := fileOf(t, "s.csv", "id,propensity_no,propensity_yes,base_rate,propensity_clicks,lift_clicks,why_clicks\n"+
		"7,.5,.5,.5,.25,2,age=7 +1.5\n")
	if got, a, err = linesOf(t, Choice{Class: "clicks"}, flat); err != nil || a.Flat != 1 ||
		!strings.Contains(got, `"base_rate":0.125,"lift":2`) {
		t.Errorf("%v, %+v, %s", err, a, got)
	}
	// A program that writes NaN for null makes the lifts a column of texts.
	texts := fileOf(t, "s.csv", "id,propensity_no,propensity_yes,base_rate,propensity_clicks,lift_clicks\n"+
		"7,.5,.5,.5,.25,2\n8,.5,.5,.5,.5,NaN\n")
	if got, a, err = linesOf(t, Choice{Class: "clicks"}, texts); err != nil || a.Summary.Untrained != 1 ||
		!strings.Contains(got, `{"id":"7"`) || !strings.Contains(got, `"base_rate":0.125,"lift":2`) {
		t.Errorf("%v, %+v, %s", err, a.Summary, got)
	}
}

// TestAStageThatWasGivenIDs has former scores without: they are counted, and are no end of its audiences. So it is the
// other way round.
func TestAStageThatWasGivenIDs(t *testing.T) {
	before := fileOf(t, "before.jsonl", `{"source_offset":1,"source_row":0,"propensity_yes":0.75}`+"\n")
	after := fileOf(t, "after.jsonl", `{"id":"a","source_offset":2,"source_row":0,"propensity_yes":0.5}`+"\n")
	got, a, err := linesOf(t, Choice{Class: "yes", Records: true, ByID: true}, before, after)
	if err != nil || a.NoID != 1 || strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, `{"id":"a","rank":1`) {
		t.Errorf("%v, %s", err, got)
	}
	got, a, err = linesOf(t, Choice{Class: "yes", Records: true}, after, before)
	if err != nil || a.NoID != 0 || strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, `{"source_partition":0`) {
		t.Errorf("%v, %s", err, got)
	}
}

func TestTimesDecideWhatIsNew(t *testing.T) {
	row := func(at, p string) string {
		return fmt.Sprintf(`{"id":"a","time":%s,"source_offset":0,"source_row":0,"propensity_yes":%s}`+"\n", at, p)
	}
	late, early := row(`"2024-05-02T00:00:00Z"`, "0.75"), row(`"2024-05-01T00:00:00Z"`, "0.25")
	for name, c := range map[string]struct {
		files []string
		want  float64
	}{
		"the later time comes first":      {[]string{late + early}, .75},
		"the later time is in one before": {[]string{late, early}, .75},
		"the later time comes last":       {[]string{early, late}, .75},
		"no time is older than any":       {[]string{late, row("null", "0.5")}, .75},
		"the last file without times":     {[]string{row("null", "0.5"), row("null", "0.625")}, .625},
		"the last row without times":      {[]string{row("null", "0.5") + row("null", "0.625")}, .625},
	} {
		var paths []string
		for i, f := range c.files {
			paths = append(paths, fileOf(t, fmt.Sprintf("s%d.jsonl", i), f))
		}
		a, err := Choose(t.Context(), Files(cli.New(nil, io.Discard, io.Discard), paths), Choice{Class: "yes", Most: 9})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.members[0].Propensity; got != c.want || len(a.members) != 1 {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	// Seconds of no stated unit are refused by the contract, and told.
	_, a, err := linesOf(t, Choice{Class: "yes"}, fileOf(t, "s.jsonl", row("1700000000", "0.5")))
	if err != nil || a.Untimed != 1 {
		t.Errorf("%d untimed, %v", a.Untimed, err)
	}
}

// TestTheTimeOfTheMessageCounts where records have none: an id may come in several partitions, and their numbers and
// offsets do not tell the newest score.
func TestTheTimeOfTheMessageCounts(t *testing.T) {
	row := func(at, p string) string {
		return fileOf(t, "s.jsonl", `{"id":"a",`+at+`,"source_row":0,"propensity_yes":`+p+"}\n")
	}
	files := Files(cli.New(nil, io.Discard, io.Discard), []string{row(`"source_partition":2,"source_offset":9`, "0.25"),
		row(`"source_partition":0,"source_offset":1`, "0.75")})
	scan := func(ctx context.Context, f func(t *codec.Table, at Place, time int64) error) error {
		return files(ctx, func(t *codec.Table, at Place, _ int64) error {
			if at.Partition == 0 {
				return f(t, Place{Partition: 2, Offset: 9}, 1000)
			}
			return f(t, Place{Offset: 1}, 2000)
		})
	}
	a, err := Choose(t.Context(), scan, Choice{Class: "yes", Records: true, ByID: true, Most: 9})
	if err != nil || len(a.members) != 1 || a.members[0].Propensity != .75 {
		t.Errorf("%v, %+v", err, a)
	}
}

// TestControlIsFoundByTheConfigurationToo, where the scores are older than the section.
func TestControlIsFoundByTheConfigurationToo(t *testing.T) {
	control := model.Control{Share: .5, Seed: 1}
	var with, without, smaller strings.Builder
	in := 0
	for i := range 200 {
		id := fmt.Sprint(i)
		held := control.Holds(id, 0, 0, 0)
		if held {
			in++
		}
		fmt.Fprintf(&without, `{"id":"%s","propensity_yes":0.5}`+"\n", id)
		fmt.Fprintf(&smaller, `{"id":"%s","propensity_yes":0.5,"control":%v}`+"\n", id,
			(&model.Control{Share: .1, Seed: 1}).Holds(id, 0, 0, 0))
		fmt.Fprintf(&with, `{"id":"%s","propensity_yes":0.5,"control":%v}`+"\n", id, held)
	}
	for name, c := range map[string]struct {
		text    string
		control model.Control
		with    bool
		want    int
	}{
		"by the column":        {with.String(), model.Control{}, false, in},
		"by the configuration": {without.String(), control, false, in},
		"by a larger share":    {smaller.String(), control, false, in},
		"neither":              {without.String(), model.Control{}, false, 0},
		"taken in":             {with.String(), control, true, 0},
	} {
		choice := Choice{Class: "yes", Control: c.control, With: With{Control: c.with}}
		got, a, err := linesOf(t, choice, fileOf(t, "s.jsonl", c.text))
		if err != nil || a.Summary.Control != c.want || a.Summary.N != 200-c.want || strings.Count(got, "\n") != 200-c.want {
			t.Errorf("%s: %v, %+v", name, err, a.Summary)
		}
	}
}

// TestNoAudienceOfOtherFiles: errors name the file and the column, and hostile texts make no panic.
func TestNoAudienceOfOtherFiles(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"another class":  {"s.jsonl", `{"id":"a","propensity_no":1}`, "no column propensity_yes; its classes are no"},
		"no scores":      {"s.csv", "x,y\n1,2\n", "s.csv: there is no column propensity_yes; files of scores come from"},
		"an empty file":  {"s.jsonl", "", "the file is empty"},
		"a heading only": {"s.csv", "id,propensity_yes\n", "no records"},
		"broken":         {"s.jsonl", `{"id":"a","propensity_yes":`, "s.jsonl"},
		"another kind":   {"s.xlsx", "PK", "s.xlsx"},
	} {
		_, _, err := linesOf(t, Choice{Class: "yes"}, fileOf(t, c.file, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	_, _, err := linesOf(t, Choice{Class: "yes"}, fileOf(t, "a.jsonl", `{"id":"a","propensity_yes":0.5}`),
		fileOf(t, "b.jsonl", `{"propensity_yes":0.5}`))
	if err == nil || !strings.Contains(err.Error(), "of one kind") {
		t.Errorf("got %v", err)
	}
	got, a, err := linesOf(t, Choice{Class: "yes"}, fileOf(t, "s.csv", "id,propensity_yes,why\n007,NaN,\n008,.5,age:3\n"))
	if err != nil || a.Summary.Unknown != 1 || a.Flat != 1 || !strings.Contains(got, `"id":"008"`) {
		t.Errorf("%v, %+v\n%s", err, a, got)
	}
}

// TestScoresThatAreGone: a topic that forgot some of them meanwhile gives an error and no shorter audience.
func TestScoresThatAreGone(t *testing.T) {
	path := fileOf(t, "s.jsonl", plain)
	files := Files(cli.New(nil, io.Discard, io.Discard), []string{path})
	a, err := Choose(t.Context(), files, Choice{Class: "yes", Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.SplitAfter(plain, "\n")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), func(*codec.Table) error { return nil }); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
}

// TestSummaryForPeople has each line once.
func TestSummaryForPeople(t *testing.T) {
	_, a, err := linesOf(t, Choice{Class: "yes"}, fileOf(t, "s.jsonl", plain))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(a.Lines(&evaluate.Value{Hit: 40, Contact: 1.5}), "\n")
	want := `audience of yes: 1 of 1 id (100.0 %), from 5 scores
expected: 0.5 hits, 50.0 % of them, 1.00 times the average of 50.0 %; profit 18.50 at 40 a hit and 1.5 a contact
lowest propensity: 0.5000
1 id left out that no model has scored yet: their propensities are base rates; --with-untrained takes them in
2 ids without a propensity of yes left out
1 score without an id left out`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r := a.Report(nil); r.ExpectedProfit != nil || r.N != 1 || r.Untrained != 1 || r.By != "yes" {
		t.Errorf("%+v", r)
	}
	a.Summary.Tied, a.Summary.Control, a.Unread, a.Untimed = 4, 3, 1, 2
	lines := a.Lines(nil)
	for _, want := range []string{"lowest propensity: 0.5000; 4 ids left out with the same one, drawn by hash",
		"3 ids in the control share left out; --with-control takes them in", "1 message left out that cannot be read",
		"2 scores: the time cannot be read, so they count as the oldest of their id; record.time.unit of a configuration " +
			"(-c) tells the unit"} {
		if !slices.Contains(lines, want) {
			t.Errorf("got\n%s\nwithout %s", strings.Join(lines, "\n"), want)
		}
	}
}

// TestRowsOfAnotherTarget: of three classes, base rate, lift, percentile and reasons of another class say nothing of
// the chosen one.
func TestRowsOfAnotherTarget(t *testing.T) {
	row := `{"id":"a","target":"c","propensity_a":0.25,"propensity_b":0.25,"propensity_c":0.5,"base_rate":0.25,"lift":2,` +
		`"percentile":0.5,"why":[{"feature":"age","value":"7","effect":1.5,"lift":2,"n":3}]}` + "\n"
	for class, want := range map[string]string{
		"b": `"propensity":0.25,"base_rate":null,"lift":null,"percentile":null,"why":null}`,
		"c": `"propensity":0.5,"base_rate":0.25,"lift":2,"percentile":0.5,"why":[{"feature":"age","value":"7",` +
			`"effect":1.5,"lift":2,"n":3}]}`} {
		got, _, err := linesOf(t, Choice{Class: class}, fileOf(t, "s.jsonl", row))
		if err != nil || !strings.HasSuffix(got, want+"\n") {
			t.Errorf("%s: %v\n%swant %s", class, err, got, want)
		}
	}
}

// TestAFileThatIsNotThere ends the choice, whether it is the first of its files or not.
func TestAFileThatIsNotThere(t *testing.T) {
	there, gone := fileOf(t, "s.jsonl", plain), filepath.Join(t.TempDir(), "gone.jsonl")
	for _, paths := range [][]string{{gone}, {gone, there}, {there, gone}} {
		if _, _, err := linesOf(t, Choice{Class: "yes"}, paths...); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d files: %v", len(paths), err)
		}
	}
}
