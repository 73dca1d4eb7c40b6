package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model/modeltest"
)

// TestBoundsStayWhereTheyAre holds the table of bounds against a copy: a bound that moves refuses files that were
// taken, or takes such as cannot work. A row of a new key is put there by hand.
func TestBoundsStayWhereTheyAre(t *testing.T) {
	shows := map[string]func(float64) string{}
	leaves(reflect.ValueOf(fillPointers(Default("bank"))), "", func(path string, v reflect.Value) {
		if v.Kind() == reflect.Slice {
			v, path = reflect.New(v.Type().Elem()).Elem(), path+"[]"
		}
		if x, ok := v.Interface().(AutoFloat); ok {
			x.Auto = false
			v = reflect.ValueOf(x)
		}
		if m, ok := measureOf(v); ok {
			shows[path] = m.show
		}
	})
	var b strings.Builder
	for i := range bounds {
		x := &bounds[i]
		show := shows[x.path]
		if x.duration {
			show = showDuration
		}
		fmt.Fprintf(&b, "%s: %s\n", x.path, x.rule(show))
	}
	want, err := os.ReadFile("testdata/bounds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if !strings.Contains("\n"+b.String(), "\n"+line) {
			t.Errorf("no row of the table says: %s", line)
		}
	}
	for line := range strings.Lines(b.String()) {
		if !strings.Contains("\n"+string(want), "\n"+line) {
			t.Errorf("testdata/bounds.txt lacks: %s", line)
		}
	}
}

// list writes n elements made of a pattern.
func list(n int, pattern string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(pattern, i)
	}
	return strings.Join(out, ", ")
}

// TestLimitsHoldAtTheirEnds: each file is taken at a limit and refused one step beyond it, with that one problem.
func TestLimitsHoldAtTheirEnds(t *testing.T) {
	modeltest.Computes(t)
	record := func(classes, features string) string {
		return "name: bank\nrecord:\n  label: {column: class, classes: [" + classes + "]}\n  features: [" + features + "]\n"
	}
	const x = "{name: x, kind: continuous}"
	for _, c := range []struct{ name, taken, refused, says string }{
		{"message against in flight", minimal + "memory: {message: 8MiB, in_flight: 8MiB}\n",
			minimal + "memory: {message: 8388609, in_flight: 8MiB}\n", "memory.message (8388609) must be at most memory.in"},
		{"message against batch", minimal + "memory: {message: 8MiB, batch: 9MiB}\n",
			minimal + "memory: {message: 8388609, batch: 9MiB}\n", "memory.message (8388609 and 1MiB for key and headers)"},
		{"message against decoded", minimal + "memory: {message: 8MiB, decoded: 32MiB}\n",
			minimal + "memory: {message: 8388609, decoded: 32MiB}\n", "memory.decoded (a quarter of 32MiB)"},
		{"sets", minimal + "lift: {sets: {min: 4, max: 4}}\n", minimal + "lift: {sets: {min: 4, max: 3}}\n",
			"lift.sets.min (4) must be at most lift.sets.max (3)"},
		{"neighbours", minimal + "local: {neighbours: 9, prototypes: 9}\n", minimal +
			"local: {neighbours: 10, prototypes: 9}\n", "local.neighbours (10) must be at most local.prototypes (9)"},
		{"name", strings.Replace(minimal, "bank", strings.Repeat("n", 200), 1), strings.Replace(minimal, "bank",
			strings.Repeat("n", 201), 1), "name must be 1 to 200 of"},
		{"topic", minimal + "topics: {dead: " + strings.Repeat("d", 249) + "}\n", minimal + "topics: {dead: " +
			strings.Repeat("d", 250) + "}\n", "topics.dead must be 1 to 249 of"},
		{"classes", record(list(MaxClasses, "c%d"), x), record(list(MaxClasses+1, "c%d"), x),
			"record.label.classes lists 1001 classes; at most 1000"},
		{"two classes", record("a, b", x), record("a", x), "needs at least two classes, not 1"},
		{"levels", record("a, b", "{name: l, kind: nominal, levels: ["+list(MaxLevels, "l%d")+"]}"),
			record("a, b", "{name: l, kind: nominal, levels: ["+list(MaxLevels+1, "l%d")+"]}"), "lists 4097 levels; at most"},
		{"ordinal levels", record("a, b", "{name: l, kind: ordinal, levels: [a, b]}"),
			record("a, b", "{name: l, kind: ordinal, levels: [a]}"), "at least two levels, not 1"},
		{"length of a class", record("a, "+strings.Repeat("b", MaxText), x), record("a, "+strings.Repeat("b", MaxText+1), x),
			"a class is at most 256 bytes long, not 257"},
		{"length of a level", record("a, b", "{name: l, kind: nominal, levels: [a, "+strings.Repeat("b", MaxText)+"]}"),
			record("a, b", "{name: l, kind: nominal, levels: [a, "+strings.Repeat("b", MaxText+1)+"]}"),
			"a level is at most 256 bytes long, not 257"},
		{"length of a name", record("a, b", "{name: "+strings.Repeat("x", MaxText)+", kind: nominal}"),
			record("a, b", "{name: "+strings.Repeat("x", MaxText+1)+", kind: nominal}"), "a feature's name is at most 256"},
		{"half-lives", minimal + "propensity: {half_lives: [" + list(16, "1%d") + "]}\n", minimal +
			"propensity: {half_lives: [" + list(17, "1%d") + "]}\n", "propensity.half_lives needs 1 to 16 values, not 17"},
		{"widths", minimal + "kernel: {widths: [" + list(16, "1%d") + "]}\n", minimal +
			"kernel: {widths: [" + list(17, "1%d") + "]}\n", "kernel.widths needs 1 to 16 values, not 17"},
		{"currency", minimal + "format: {currency: [abcdefgh]}\n", minimal + "format: {currency: [abcdefghi]}\n",
			"a sign of currency has 1 to 8 bytes"},
		{"one half of a pair of keys", minimal + "kafka: {tls: {cert: a, key: b}}\n", minimal + "kafka: {tls: {key: b}}\n",
			"kafka.tls.cert and kafka.tls.key belong together"},
	} {
		load(t, c.taken)
		_, _, err := Parse("t.yaml", []byte(c.refused), environment)
		if problems, ok := err.(Problems); !ok || len(problems) != 1 || !strings.Contains(problems[0].Message, c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	features := make([]string, MaxFeatures+1)
	for i := range features {
		features[i] = fmt.Sprintf("{name: x%d, kind: continuous}", i)
	}
	load(t, record("a, b", strings.Join(features[1:], ", ")))
	if _, _, err := Parse("t.yaml", []byte(record("a, b", strings.Join(features, ", "))), environment); err == nil {
		t.Errorf("%d features were taken", len(features))
	}
}

// TestDefaultsOfWhatIsLeftOut: sections of which one key is given have the defaults of the others, and memory follows
// the size of a message.
func TestDefaultsOfWhatIsLeftOut(t *testing.T) {
	with := strings.Replace(minimal, "record:\n", "record:\n  id: who\n", 1)
	for text, want := range map[string]Dedup{
		"dedup:\n":                   {DedupByID, Duration(time.Hour), 16 << 20},
		"dedup: {by: id}\n":          {DedupByID, Duration(time.Hour), 16 << 20},
		"dedup: {window: 5m}\n":      {DedupByID, Duration(5 * time.Minute), 16 << 20},
		"dedup: {max_bytes: 1MiB}\n": {DedupByID, Duration(time.Hour), 1 << 20},
	} {
		if c, _ := load(t, with+text); c.Dedup == nil || *c.Dedup != want {
			t.Errorf("%q: %+v, want %+v", text, c.Dedup, want)
		}
	}
	week := Labels{Window: Duration(7 * 24 * time.Hour), OnExpiry: OnExpiryDrop, Late: LateCorrect, Match: MatchNewest,
		MaxBytes: 320 << 20}
	for text, change := range map[string]func(l *Labels){
		"labels:\n":                     func(*Labels) {},
		"topics: {labels: l}\n":         func(*Labels) {},
		"labels: {window: 3d}\n":        func(l *Labels) { l.Window = Duration(3 * 24 * time.Hour) },
		"labels: {on_expiry: no}\n":     func(l *Labels) { l.OnExpiry = "no" },
		"labels: {late: ignore}\n":      func(l *Labels) { l.Late = LateIgnore },
		"labels: {correct: 2d}\n":       func(l *Labels) { l.Correct = Duration(2 * 24 * time.Hour) },
		"labels: {match: all}\n":        func(l *Labels) { l.Match = MatchAll },
		"labels: {max_bytes: 1MiB}\n":   func(l *Labels) { l.MaxBytes = 1 << 20 },
		"labels: {on_expiry: \"yes\"}":  func(l *Labels) { l.OnExpiry = "yes" },
		"labels: {}\ntopics: {dead: x}": func(*Labels) {},
	} {
		want := week
		change(&want)
		if c, _ := load(t, minimal+text); c.Labels == nil || *c.Labels != want {
			t.Errorf("%q: %+v, want %+v", text, c.Labels, want)
		}
	}
	for text, want := range map[string][2]ByteSize{ // batch, decoded
		"":                                             {32 << 20, 256 << 20},
		"memory: {message: 1MiB}\n":                    {8 << 20, 256 << 20},
		"memory: {message: 4MiB}\n":                    {8 << 20, 256 << 20},
		"memory: {message: 5MiB}\n":                    {10 << 20, 256 << 20},
		"memory: {message: 32MiB}\n":                   {64 << 20, 256 << 20},
		"memory: {message: 33MiB}\n":                   {66 << 20, 264 << 20},
		"memory: {message: 33MiB, batch: 1GiB}\n":      {1 << 30, 264 << 20},
		"memory: {message: 33MiB, decoded: 1GiB}\n":    {66 << 20, 1 << 30},
		"memory: {message: 511MiB, in_flight: 1GiB}\n": {1022 << 20, 4088 << 20},
	} {
		c, _ := load(t, minimal+text)
		if got := [2]ByteSize{c.Memory.Batch, c.Memory.Decoded}; got != want {
			t.Errorf("%q: batch and decoded are %v, want %v", text, got, want)
		}
	}
	c, _ := load(t, minimal+"topics: {scores: s}\n")
	if x := c.Topics; x.Events != "bank-events" || x.Scores != "s" || x.State != "bank-state" || x.Model != "bank-model" ||
		x.Dead != "bank-dead" || x.Labels != "" {
		t.Errorf("topics %+v", x)
	}
}

// TestFramesHoldAllButWhatIsCarriedOver: features, classes, monotone, dedup and components that are off differ within a
// frame; every other key that shapes a state makes another one.
func TestFramesHoldAllButWhatIsCarriedOver(t *testing.T) {
	base := strings.Replace(minimal, "record:\n", "record:\n  id: who\n", 1)
	c, _ := load(t, base)
	for text, same := range map[string]bool{
		strings.Replace(base, "[no, yes]", "[no, yes, maybe]", 1):                   true,
		strings.Replace(base, "kind: nominal", "kind: nominal, levels: [a, b]", 1):  true,
		strings.Replace(base, "kind: nominal", "kind: nominal, use: report", 1):     true,
		strings.Replace(base, "kind: nominal", "kind: nominal, nullable: never", 1): true,
		base + "    - {name: z, kind: continuous}\n":                                true,
		base + "propensity: {monotone: {age: up}}\n":                                true,
		base + "propensity: {base_rates: {no: 0.5, yes: 0.5}}\n":                    true,
		base + "dedup: {window: 2h, max_bytes: 1MiB}\n":                             true,
		base + "local: off\n":                                                                     true,
		base + "kernel: off\n":                                                                    true,
		base + "lift: {sets: {top: 3}}\n":                                                         false,
		base + "propensity: {sign: follow}\n":                                                     false,
		base + "propensity: {residuals: off}\n":                                                   false,
		base + "propensity: {residuals: on}\n":                                                    true,
		base + "propensity: {calibration: {knots: 5}}\n":                                          false,
		base + "drift: {false_alarms: 0.1}\n":                                                     true,
		base + "local: {half_life: 5}\n":                                                          false,
		base + "kernel: {triples: 50}\n":                                                          false,
		base + "fit: {seed: 2}\n":                                                                 false,
		strings.Replace(base, ", positive: yes", "", 1):                                           false,
		strings.Replace(base, "id: who", "id: whose", 1):                                          false,
		strings.Replace(base, "id: who", "id: who\n  missing: []", 1):                             false,
		strings.Replace(base, "id: who", "id: who\n  time: {column: at, unit: ms}", 1):            false,
		strings.Replace(base, "column: class", "column: other", 1):                                false,
		strings.Replace(base, "id: who", "id: who\n  weight: w", 1) + "output: {why: 1}\n":        false,
		base + "memory: {tail: 1MiB}\nfit: {every: 5s}\noutput: {why: 1}\nlabels: {late: ignore}": true,
	} {
		if other, _ := load(t, text); (other.Frame() == c.Frame()) != same {
			t.Errorf("the same frame: %v, want %v, for\n%s", !same, same, text)
		}
	}
}

// TestFingerprintsOutliveTheBuild: states and models are found again by these numbers; a build that computes others
// makes every state anew.
func TestFingerprintsOutliveTheBuild(t *testing.T) {
	for _, c := range []struct {
		text               string
		fingerprint, frame uint64
	}{{minimal, 0xfddd759313c21a11, 0x5c9506d6d123ae8},
		{strings.Replace(minimal, "record:\n", "record:\n  id: who\n  time: {column: at, unit: s}\n", 1) +
			"lift: {joint: product}\npropensity: {half_lives: [1d, 20], monotone: {age: down}}\nlocal: off\n" +
			"kernel: {widths: [2], gamma1: 0.5}\nfit: {seed: 3}\ndedup: {}\n", 0x30b35308e2ebea42, 0x908dbb130f0ad0f0}} {
		x, _ := load(t, c.text)
		if x.Fingerprint() != c.fingerprint || x.Frame() != c.frame {
			t.Errorf("fingerprint %#x and frame %#x, want %#x and %#x, of\n%s", x.Fingerprint(), x.Frame(), c.fingerprint,
				c.frame, c.text)
		}
	}
}

// TestOfEquallyNearWordsTheFirstIsMeant.
func TestOfEquallyNearWordsTheFirstIsMeant(t *testing.T) {
	for _, c := range []struct {
		text, want string
		candidates []string
	}{
		{"gamma", "gamma1", []string{"gamma1", "gamma2"}}, {"gamma", "gamma2", []string{"gamma2", "gamma1"}},
		{"gamma2x", "gamma2", []string{"gamma1", "gamma2"}}, {"top", "", []string{"top"}},
		{strings.Repeat("a", 64), strings.Repeat("a", 63), []string{strings.Repeat("a", 63)}},
		{strings.Repeat("a", 65), "", []string{strings.Repeat("a", 64)}},
		{strings.Repeat("a", 63), "", []string{strings.Repeat("a", 65)}},
	} {
		if got := Nearest(c.text, c.candidates); got != c.want {
			t.Errorf("near %q of %q is %q, want %q", c.text, c.candidates, got, c.want)
		}
	}
}

// TestOwnModelsAreWarnedOfByTheirCells, intercepts counted, where there are more features than the kernel looks at.
func TestOwnModelsAreWarnedOfByTheirCells(t *testing.T) {
	for _, c := range []struct {
		features, warmup int
		want             bool
	}{{249, 200, false}, {249, 201, true}, {250, 200, true}, {250, 199, false}, {128, 1000, false}, {129, 1000, true}} {
		var features []string
		for i := range c.features {
			features = append(features, fmt.Sprintf("{name: x%d, kind: continuous}", i))
		}
		_, ws := load(t, fmt.Sprintf("name: w\nrecord:\n  label: {column: y, classes: [no, yes]}\n  features: [%s]\n"+
			"kernel: off\nfit: {warmup: %d}\n", strings.Join(features, ", "), c.warmup))
		speaks := func(w Warning) bool { return strings.Contains(w.Message, "fit.warmup is") }
		if slices.ContainsFunc(ws, speaks) != c.want {
			t.Errorf("%d features and a warmup of %d: %v", c.features, c.warmup, ws)
		}
	}
}

// TestMessagesOfOtherProgramsHaveTheLine of the key, and show no value of the environment.
func TestMessagesOfOtherProgramsHaveTheLine(t *testing.T) {
	c, _ := load(t, minimal+"http: {token: \"${HTTP_TOKEN}\"}\noutput:\n  why: ${SEVEN}\n")
	for path, want := range map[string]string{
		"record.label.classes[1]": "test.yaml:3: warning: record.label.classes[1]: twin",
		"record.features[1].name": "test.yaml:6: warning: record.features[1].name: twin",
		"output.why":              "test.yaml:9: warning: output.why: twin",
		"output.format":           "test.yaml:8: warning: output.format: twin",
		"lift.quantiles":          "test.yaml:1: warning: lift.quantiles: twin",
	} {
		if got := c.Warning(path, "twin").String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := c.Quote("output.why", "7"); got != `the value of "${SEVEN}"` {
		t.Errorf("a value of the environment is quoted as %s", got)
	}
	if got := c.Quote("name", "bank"); got != `"bank"` || Default("x").Quote("name", "x") != `"x"` {
		t.Errorf("a value of the file is quoted as %s", got)
	}
}
