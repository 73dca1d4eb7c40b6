package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
)

// flags are those of the command as it has them without any given.
func flags(given ...string) *Evaluation {
	return &Evaluation{Protocol: prequential, Skip: 1000, Partitions: 1, Folds: 10,
		Changed: func(flag string) bool { return slices.Contains(given, flag) }}
}

// TestFlagsOfEachProtocol: bounds hold at their ends, and a flag of another protocol is refused by name.
func TestFlagsOfEachProtocol(t *testing.T) {
	for _, c := range []struct {
		set  func(e *Evaluation)
		says string
	}{
		{func(*Evaluation) {}, ""},
		{func(e *Evaluation) { e.Protocol = "fold" }, "--protocol fold: it is one of prequential, folds, triples"},
		{func(e *Evaluation) { e.Delay = -1 }, "--delay -1: it must be at least 0"},
		{func(e *Evaluation) { e.Delay = 10_000_000 }, ""},
		{func(e *Evaluation) { e.Delay = 10_000_001 }, "--delay 10000001: it must be at most 10000000"},
		{func(e *Evaluation) { e.Skip = 0 }, ""}, {func(e *Evaluation) { e.Skip = math.MaxInt }, ""},
		{func(e *Evaluation) { e.Skip = -1 }, "--skip -1: it must be at least 0"},
		{func(e *Evaluation) { e.Partitions = 0 }, "--partitions 0: it must be at least 1"},
		{func(e *Evaluation) { e.Partitions = 10_000 }, ""},
		{func(e *Evaluation) { e.Partitions = 10_001 }, "--partitions 10001: it must be at most 10000"},
		{func(e *Evaluation) { e.Folds = 2 }, ""},
		{func(e *Evaluation) { e.Folds = 1 }, "--folds 1: it must be at least 2"},
		{func(e *Evaluation) { e.Folds = 100_001 }, "--folds 100001: it must be at most 100000"},
		{func(e *Evaluation) { e.Methods = []string{"all", "lift", "knn", "prior"} }, ""},
		{func(e *Evaluation) { e.Methods = []string{"all", "euclidean"} }, "--method euclidean: under --protocol preq"},
		{func(e *Evaluation) { e.Protocol, e.Methods = triples, []string{"kernel", "directions", "euclidean"} }, ""},
		{func(e *Evaluation) { e.Protocol, e.Methods = triples, []string{"all"} }, "--method all: under --protocol triples"},
		{func(e *Evaluation) { e.On = "control" }, ""}, {func(e *Evaluation) { e.On = "treated" }, "--on treated: it is con"},
		{func(e *Evaluation) { e.Scores = "x.csv" }, ""}, {func(e *Evaluation) { e.Scores = "x.txt" }, "x.txt: unknown kind"},
	} {
		e := flags()
		c.set(e)
		err := e.check()
		if (err == nil) != (c.says == "") || err != nil && !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%+v: got %v, want %q", *e, err, c.says)
		}
	}
	means := map[string][]string{"delay": {prequential}, "skip": {prequential}, "partitions": {prequential},
		"fold-column": {folds, triples}, "folds": {folds, triples}, "triples": {triples}, "scores": {prequential, folds},
		"on": {prequential, folds}}
	for flag, protocols := range means {
		for _, protocol := range []string{prequential, folds, triples} {
			e := flags(flag)
			e.Protocol = protocol
			err := e.check()
			if slices.Contains(protocols, protocol) != (err == nil) || err != nil && err.Error() !=
				"--"+flag+" means nothing under --protocol "+protocol {
				t.Errorf("--%s under %s: %v", flag, protocol, err)
			}
		}
	}
}

// TestAProtocolSetsWhenLabelsCome: nothing else lets a record wait, expire or be corrected.
func TestAProtocolSetsWhenLabelsCome(t *testing.T) {
	for _, c := range []struct {
		delay  int
		scores string
		wait   bool
		why    int
	}{{0, "", false, 5}, {3, "", true, 5}, {3, "x.csv", true, 2}, {0, "x.csv", false, 2}} {
		s := &model.Spec{Options: model.Options{Why: 2, WaitBytes: 7, WaitWindow: 8, Correct: true}}
		e := &Evaluation{Delay: c.delay, Scores: c.scores}
		e.frozen(s)
		if o := s.Options; (o.WaitBytes > 1<<60) != c.wait || !c.wait && o.WaitBytes != 0 || o.WaitWindow != 0 || o.Correct ||
			o.Why != c.why {
			t.Errorf("%+v: %+v", c, o)
		}
	}
}

// tables keeps the JSON lines of the rows, and how many each table has.
type tables struct {
	lines []string
	sizes []int
}

func (k *tables) write(t *codec.Table) error {
	for i := range t.Rows() {
		k.lines = append(k.lines, string(t.AppendJSON(nil, i)))
	}
	k.sizes = append(k.sizes, t.Rows())
	return nil
}

// TestRowsOfScoresAreThoseOfTheRecords: each row has id, time, position and reasons of its own record, in any order
// of the levels of its partition; tables end at a thousand rows, and where ids begin.
func TestRowsOfScoresAreThoseOfTheRecords(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "x"},
		{Name: "job", Kind: model.Nominal}}}
	jobs := []string{"a", "b", "c"}
	levels := make([]*model.Levels, 2)
	for p := range levels {
		levels[p] = model.NewLevels(s)
		for k := range jobs {
			levels[p].Code(1, jobs[(k+p)%3])
		}
	}
	var kept tables
	rows, err := newScoreRows(codec.Options{Schema: s, ID: "id", Time: "at", Features: codec.FeaturesAll},
		[]evaluate.Method{{Name: "lift"}, {Name: evaluate.MethodAll}}, kept.write)
	if err != nil {
		t.Fatal(err)
	}
	const n, first = 2500, 1<<31 - 1200 // the row of a position ends in between
	for i := range int64(n) {
		p := i % 2
		if i < 1800 {
			p = 0
		}
		b := &model.Batch{N: 2, Time: []int64{0, i * 1e9}, ID: []string{"other", fmt.Sprintf("r%d", i)}}
		if i >= 2300 {
			b.ID = nil
		}
		x := &model.Scores{}
		x.Reset(2, 2)
		x.P[2], x.P[3] = 1-float64(i)/n, float64(i)/n
		x.Why = []model.Reason{{Feature: 0, Value: -1, Effect: 1}, {Feature: 0, Value: float64(i), Effect: .5},
			{Feature: 1, Value: float64(levels[p].Code(1, jobs[i%3])), Effect: .25}, {Feature: 1, Value: math.NaN(), Effect: .1}}
		x.WhyEnd[0], x.WhyEnd[1] = 1, 4
		wrong := &model.Scores{}
		wrong.Reset(2, 2)
		if err := rows.add(&evaluate.Record{Index: first + i, Partition: int32(p), Batch: b, Row: 1,
			Scores: []*model.Scores{wrong, x}, Levels: []*model.Levels{nil, levels[p]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.flush(); err != nil {
		t.Fatal(err)
	}
	if err := rows.flush(); err != nil || len(kept.lines) != n {
		t.Fatalf("%d rows of %d, %v", len(kept.lines), n, err)
	}
	if got := kept.sizes[:3]; !slices.Equal(got, []int{1000, 200, 601}) || slices.Max(kept.sizes) != 1000 {
		t.Errorf("tables of %d rows", got)
	}
	for i, line := range kept.lines {
		p, id := i%2, fmt.Sprintf(`"r%d"`, i)
		if i < 1800 {
			p = 0
		}
		if i >= 2300 {
			id = "null"
		}
		place := first + int64(i)
		begin := fmt.Sprintf(`{"id":%s,"time":"1970-01-01T00:%02d:%02dZ","source_partition":%d,"source_offset":%d,`+
			`"source_row":%d,`, id, i/60, i%60, p, place>>31, place&math.MaxInt32)
		end := fmt.Sprintf(`"why":[{"feature":"x","value":"%d","effect":0.5,"lift":0,"n":0},{"feature":"job","value":"%s",`+
			`"effect":0.25,"lift":0,"n":0},{"feature":"job","value":null,"effect":0.1,"lift":0,"n":0}]}`, i, jobs[i%3])
		p1 := string(model.AppendNumber([]byte(`"propensity_yes":`), float64(i)/n, 64)) + ","
		if !strings.HasPrefix(line, begin) || !strings.HasSuffix(line, end) || !strings.Contains(line, p1) {
			t.Fatalf("record %d:\n%s\nwant\n%s ... %s ... %s", i, line, begin, p1, end)
		}
	}
}

const configuration = `name: x
record:
  id: id
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: a, kind: continuous}, {name: b, kind: continuous}, {name: c, kind: nominal, use: report}]
fit: {warmup: 40, records: 60}
kernel: {triples: 50}
`

// data writes a configuration and n records of which a tells the class; fold is the text of the fold of a record.
func data(t *testing.T, n int, fold func(i int) string) (conf, path string) {
	t.Helper()
	dir := t.TempDir()
	conf, path = filepath.Join(dir, "x.yaml"), filepath.Join(dir, "x.csv")
	var b strings.Builder
	b.WriteString("id,a,b,c,y,fold\n")
	for i := range n {
		y := "no"
		if i*7%10 >= 6 {
			y = "yes"
		}
		if i%25 == 24 {
			y = ""
		}
		fmt.Fprintf(&b, "r%d,%d,%d,%d,%s,%s\n", i, i*7%10, i*13%17, i%2, y, fold(i))
	}
	for name, content := range map[string]string{conf: configuration, path: b.String()} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return conf, path
}

// run runs an evaluation whose result goes to standard output as JSON, into v.
func run(t *testing.T, e *Evaluation, path string, v any) (notes string, err error) {
	t.Helper()
	var out, err1 strings.Builder
	e.JSON = "-"
	err = e.Run(t.Context(), cli.New(nil, &out, &err1), []string{path})
	if err == nil {
		if e := json.Unmarshal([]byte(out.String()), v); e != nil {
			t.Fatalf("%v: %s", e, out.String())
		}
	}
	return err1.String(), err
}

// TestFoldsOfAColumn: in the order of its values, none for a record without a value; 2 to 1,000 of them.
func TestFoldsOfAColumn(t *testing.T) {
	for n, ok := range map[int]bool{1: false, 2: true, 3: true, 1000: true, 1001: false} {
		conf, path := data(t, n+5, func(i int) string {
			if i < 5 {
				return ""
			}
			return fmt.Sprintf("f%04d", (i*17+3)%n)
		})
		e := flags("fold-column")
		e.Configs, e.FoldColumn = []string{conf}, "fold"
		a := cli.New(nil, &strings.Builder{}, &strings.Builder{})
		k, maker, err := e.foldsOf(t.Context(), a, []string{path}, fileOptions(), 1)
		if (err == nil) != ok {
			t.Errorf("%d values: %v", n, err)
		}
		if err != nil {
			continue
		}
		values := map[string]bool{}
		for i := 5; i < n+5; i++ {
			values[fmt.Sprintf("f%04d", (i*17+3)%n)] = true
		}
		fold := maker()
		for i := range n + 5 {
			want := -1
			if i >= 5 {
				want, _ = slices.BinarySearch(e.foldNames, fmt.Sprintf("f%04d", (i*17+3)%n))
			}
			if got := fold(int64(i), 0); got != want {
				t.Fatalf("%d values: record %d is of fold %d, want %d", n, i, got, want)
			}
		}
		if k != len(values) || !slices.IsSorted(e.foldNames) || e.foldName(k-1) != slices.Max(e.foldNames) {
			t.Errorf("%d values: %d folds, names %q", n, k, e.foldNames)
		}
	}
	e := flags()
	if e.foldName(0) != "1" {
		t.Errorf("the first drawn fold is called %s", e.foldName(0))
	}
}

func fileOptions() file.Options {
	s := &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{{Name: "a"}}}
	return file.Options{Codec: codec.Options{Schema: s, Label: "y", Missing: []string{""}}}
}

// TestRecordsThatCount: under prequential those behind the first ones, under folds those of a fold, of a class each.
func TestRecordsThatCount(t *testing.T) {
	conf, path := data(t, 200, func(i int) string { return []string{"", "p", "q", "r"}[i%4] })
	for _, c := range []struct {
		set            func(e *Evaluation)
		scored, lines  int64
		delay, of      int
		methods, notes string
	}{
		{func(e *Evaluation) { e.Skip = 50 }, 144, 200, 0, 1, "all lift prior", ""},
		{func(e *Evaluation) { e.Skip = 0 }, 192, 200, 0, 1, "all lift prior", ""},
		{func(e *Evaluation) { e.Skip, e.Delay, e.Methods = 50, 5, []string{"prior", "all"} }, 144, 200, 5, 1, "all prior",
			""},
		{func(e *Evaluation) { e.Skip, e.Partitions, e.Methods = 50, 4, []string{"all"} }, 144, 200, 0, 4, "all", ""},
		{func(e *Evaluation) { e.Skip, e.Partitions, e.Methods = 50, 5, []string{"all"} }, 144, 200, 0, 5, "all",
			"192 labelled records are learnt, and a partition builds its first structure after fit.warmup = 40"},
		{func(e *Evaluation) { e.Protocol, e.FoldColumn, e.Methods = folds, "fold", []string{"prior"} }, 144, 150, 0, 0,
			"prior", ""},
	} {
		e := flags()
		e.Configs = []string{conf}
		c.set(e)
		e.Scores = filepath.Join(t.TempDir(), "scores.jsonl")
		var r evaluate.Result
		notes, err := run(t, e, path, &r)
		if err != nil {
			t.Fatal(err)
		}
		var methods []string
		for m := range r.Methods {
			methods = append(methods, m)
		}
		slices.Sort(methods)
		if r.Records != 200 || r.Scored != c.scored || r.Delay != c.delay || strings.Join(methods, " ") != c.methods ||
			c.of > 0 && r.Partitions != c.of || !(r.RecordsPerSecond > 0) || r.Protocol != e.Protocol {
			t.Errorf("%+v: %+v", *e, r)
		}
		if !strings.Contains(notes, c.notes) || c.notes == "" && strings.Contains(notes, "warmup") {
			t.Errorf("%+v: notes %q", *e, notes)
		}
		b, err := os.ReadFile(e.Scores)
		if err != nil || int64(strings.Count(string(b), "\n")) != c.lines {
			t.Errorf("%+v: %d scores, %v", *e, strings.Count(string(b), "\n"), err)
		}
	}
	for skip, says := range map[int]string{199: "", 200: "200 records, and the first 200 are not counted;"} {
		e := flags()
		e.Configs, e.Skip, e.Methods = []string{conf}, skip, []string{"prior"}
		var r evaluate.Result
		if _, err := run(t, e, path, &r); err == nil || !strings.Contains(err.Error(), says) || says == "" &&
			!strings.Contains(err.Error(), `no record that counts has one of the classes no, yes in column "y"`) {
			t.Errorf("without the first %d: %v", skip, err)
		}
	}
}

// TestTriplesThatAreGiven: their split by folds, the names of these, and the certificate of each programme.
func TestTriplesThatAreGiven(t *testing.T) {
	conf, path := data(t, 60, func(i int) string { return []string{"p", "q"}[i/30] })
	var b strings.Builder
	for i := range 25 { // twenty inside of the first fold, five across, and one more inside of the second
		k := i + 1
		if i >= 20 {
			k = i + 10
		}
		fmt.Fprintf(&b, "r%d,r%d,r%d\n", i, (i+10)%24, k)
	}
	b.WriteString("r40,r50,r51\n")
	e := flags("triples", "fold-column")
	e.Protocol, e.FoldColumn, e.Configs, e.Triples = triples, "fold", []string{conf}, filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(e.Triples, []byte(strings.ReplaceAll(b.String(), "r24,", "r25,")), 0o600); err != nil {
		t.Fatal(err)
	}
	e.Methods = []string{euclidean, "kernel"}
	var r show.TriplesResult
	if _, err := run(t, e, path, &r); err != nil {
		t.Fatal(err)
	}
	if r.Records != 60 || r.Labelled != 58 || r.Features != 2 || r.Triples != e.Triples || len(r.Methods) != 2 ||
		len(r.Splits) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, want := range []struct {
		fold                    string
		train, test, fit, asked int
	}{{"p", 29, 29, 1, 25}, {"q", 29, 29, 20, 6}} {
		s := r.Splits[i]
		if s.Fold != want.fold || s.Train != want.train || s.Test != want.test || s.TrainTriples != want.fit ||
			s.TestTriples != want.asked {
			t.Errorf("split %d: %+v, want %+v", i, s, want)
		}
		k := s.Methods["kernel"]
		if !(k.Bound <= k.Value) || k.Features > 2 {
			t.Errorf("split %d: %+v", i, k)
		}
	}
	for name, m := range r.Methods {
		both := (r.Splits[0].Methods[name].Both + r.Splits[1].Methods[name].Both) / 2
		single := (r.Splits[0].Methods[name].Single + r.Splits[1].Methods[name].Single) / 2
		if math.Abs(float64(m.Both-both)) > 1e-9 || math.Abs(float64(m.Single-single)) > 1e-9 {
			t.Errorf("%s: %+v, splits %v and %v", name, m, both, single)
		}
	}
}

// TestATallyHasTheFiguresOfItsTrials, features by the splits that use them.
func TestATallyHasTheFiguresOfItsTrials(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}}
	m := &tally{splits: make([]int, 4)}
	for _, x := range []kernel.Trial{
		{Accuracy: kernel.Accuracy{Both: .5, Single: .75}, Features: 2, Used: []int32{0, 3}},
		{Accuracy: kernel.Accuracy{Both: .7, Single: .85}, Features: 4, Used: []int32{3, 2}}} {
		m.add(&x)
	}
	r := m.metrics(s)
	near := func(got evaluate.Number, want float64) bool { return math.Abs(float64(got)-want) < 1e-12 }
	if !near(r.Both, .6) || !near(r.BothError, .1) || !near(r.Single, .8) || !near(r.SingleError, .05) ||
		!near(r.Features, 3) || !near(r.FeaturesError, 1) {
		t.Errorf("%+v", r)
	}
	if want := []show.UsedFeature{{Feature: "d", Splits: 2}, {Feature: "a", Splits: 1}, {Feature: "c",
		Splits: 1}}; !slices.Equal(r.Used, want) {
		t.Errorf("used are %v, want %v", r.Used, want)
	}
}

// TestFoldsWithoutTriplesAreNamed in the words of their source.
func TestFoldsWithoutTriplesAreNamed(t *testing.T) {
	c := &comparison{Evaluation: &Evaluation{}}
	if got := countOf([]int32{4}) + countOf(nil); got != "1 labelled record0 labelled records" {
		t.Errorf("got %q", got)
	}
	conf, path := data(t, 30, func(i int) string { return []string{"p", "q"}[min(i/29, 1)] })
	e := flags("fold-column")
	e.Protocol, e.FoldColumn, e.Configs, e.Methods = triples, "fold", []string{conf}, []string{euclidean}
	var r show.TriplesResult
	_, err := run(t, e, path, &r)
	if err == nil || !strings.Contains(err.Error(), "fold p: no triple can be drawn from the 1 labelled record outside") &&
		!strings.Contains(err.Error(), "fold q: no triple can be drawn from its 1 labelled record") {
		t.Errorf("%v: %v", c.folds, err)
	}
}
