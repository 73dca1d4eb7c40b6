package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/model/modeltest"
)

var variables = map[string]string{
	"KAFKA_PASSWORD": "hunter2", "HTTP_TOKEN": "t0k3n", "SECRET": "pssst", "BROKEN": "\xff",
	"A": "alpha", "SEVEN": "7", "HOST": "10.0.0.1", "YES": "yes", "DB_PASSWORD": "s3cr3t",
}

func environment(name string) (string, bool) {
	v, ok := variables[name]
	return v, ok
}

// Each file in testdata/bad breaks one rule, and has the expected line and message in its first line.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files in testdata/bad", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(data), "\n")
			want := file + ":" + strings.TrimPrefix(first, "# ")
			c, _, err := Load(file, environment)
			if c != nil || err == nil {
				t.Fatalf("the file was accepted; want %s", want)
			}
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v is not Problems", err)
			}
			if err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
			if strings.Contains(err.Error(), variables["SECRET"]) {
				t.Errorf("the message shows a value from the environment: %v", err)
			}
		})
	}
}

// load parses a text that must be accepted.
func load(t *testing.T, text string) (*Config, []Warning) {
	t.Helper()
	c, ws, err := Parse("test.yaml", []byte(text), environment)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c, ws
}

const minimal = `name: bank
record:
  label: {column: class, classes: [no, yes], positive: yes}
  features:
    - {name: age, kind: continuous}
    - {name: job, kind: nominal}
`

func TestFullFile(t *testing.T) {
	c, ws, err := Load("testdata/full.yaml", environment)
	if err != nil {
		t.Fatal(err)
	}
	if len(ws) > 0 {
		t.Errorf("warnings for a file of defaults: %v", ws)
	}
	want := Default("bank")
	want.Record = Record{
		ID: "customer", Time: TimeColumn{Column: "seen_at"}, Weight: "w",
		Label:   Label{Column: "class", Classes: []string{"no", "yes"}, Positive: "yes"},
		Goals:   []Goal{{Column: "clicked", Classes: []string{"no", "yes"}, Positive: "yes"}},
		Missing: []string{"", "NA", "?"},
		Features: []Feature{
			{Name: "age", Kind: KindContinuous, Use: UseScore, Nullable: NullableValues},
			{Name: "job", Kind: KindNominal, Use: UseScore, Nullable: NullableValues},
			{Name: "education", Kind: KindOrdinal, Levels: []string{"primary", "secondary", "tertiary"}, Use: UseScore,
				Nullable: NullableValues},
			{Name: "balance", Kind: KindContinuous, Special: []float64{-999, -888}, Use: UseScore, Nullable: NullableValues},
			{Name: "limit", Kind: KindContinuous, Cuts: []float64{0, 500, 2000}, Use: UseScore, Nullable: NullableValues},
			{Name: "income", Kind: KindContinuous, Bins: &Bins{Min: .05}, Use: UseScore, Nullable: NullableValues},
			{Name: "duration", Kind: KindContinuous, Use: UseNever, Nullable: NullableValues},
			{Name: "hour", Kind: KindContinuous, Use: UseScore, Nullable: NullableValues},
		},
	}
	want.Derive = map[string]string{"hour": "hour(time, zone=Europe/Berlin)"}
	want.Format = Numbers{Decimal: ",", Thousands: ".", Percent: true, Currency: []string{"€", "EUR"}}
	want.Lift.Profiles.Of = []string{"yes"}
	want.Propensity.Monotone = map[string]Direction{"age": DirectionUp}
	want.Propensity.BaseRates = map[string]float64{"no": .88, "yes": .12}
	want.Labels = &Labels{Window: Duration(7 * 24 * time.Hour), OnExpiry: "drop", Late: LateCorrect,
		Correct: Duration(7 * 24 * time.Hour), Match: MatchNewest, MaxBytes: 320 << 20}
	want.Dedup = &Dedup{By: DedupByID, Window: Duration(time.Hour), MaxBytes: 16 << 20}
	want.Control = &Control{Share: 0.05, By: ControlByID, Seed: 1, Treated: "called", Learn: ControlLearnAll,
		Uplift: ControlUpliftOff}
	want.Value = &Value{Hit: 40, Contact: 1.5, Goals: []GoalValue{{"clicked", 1, .1}}}
	want.Points = &Points{Base: 600, Odds: 50, PDO: 20}
	want.Segments = map[string]string{"grown": "age >= 30 & (job = admin | education > primary)"}
	want.Topics.Labels = "bank-labels"
	want.Kafka.TLS = &TLS{CA: "...", Cert: "...", Key: "..."}
	want.Kafka.SASL = &SASL{Mechanism: MechanismScramSHA512, Username: "...", Password: "hunter2"}
	want.Registry = &Registry{URL: "https://registry:8081", Username: "...", Password: "hunter2", CA: "ca.pem"}
	want.HTTP.Token, want.HTTP.Hosts = "t0k3n", []string{"scores.example.com"}
	want.masked = map[string]bool{"kafka.sasl.password": true, "registry.password": true, "http.token": true}
	want.places = c.places
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the values of the file are not the documented defaults:\n got %+v\nwant %+v", c, want)
	}
}

func TestDefaultsOfMinimalFile(t *testing.T) {
	c, ws, err := Load("testdata/minimal.yaml", environment)
	if err != nil || len(ws) > 0 {
		t.Fatal(err, ws)
	}
	want := Default("bank")
	want.Record.Label = Label{Column: "class", Classes: []string{"no", "yes"}}
	want.Record.Features = []Feature{{Name: "age", Kind: KindContinuous, Use: UseScore, Nullable: NullableValues}}
	want.masked, want.places = map[string]bool{}, c.places
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if c.Labels != nil || c.Topics.Labels != "" {
		t.Errorf("a label topic %q that nobody asked for", c.Topics.Labels)
	}
}

func TestLabelTopic(t *testing.T) {
	for extra, want := range map[string]string{
		"labels:\n":              "bank-labels",
		"labels: {}\n":           "bank-labels",
		"labels: {window: 1d}\n": "bank-labels",
		"topics: {labels: l}\n":  "l",
		"labels: {late: ignore}\ntopics: {labels: l}": "l",
	} {
		c, _ := load(t, minimal+extra)
		if c.Topics.Labels != want || c.Labels == nil || c.Labels.OnExpiry != "drop" {
			t.Errorf("%q: topic %q, section %+v; want %q and a section", extra, c.Topics.Labels, c.Labels, want)
		}
	}
}

func TestEmbeddedReplacesDefaultBrokers(t *testing.T) {
	c, _ := load(t, minimal+"kafka: {embedded: {dir: ./data}}\n")
	if c.Kafka.Embedded == nil || c.Kafka.Embedded.Dir != "./data" || len(c.Kafka.Brokers) != 0 {
		t.Errorf("got %+v", c.Kafka)
	}
}

func TestTextsStayTexts(t *testing.T) {
	levels := []string{"1", "1.0", "0x1F", "true", "True", "no", "off", "null", "~", "2020-01-01", "1e3", " a ", "",
		"a: b", "NaN", ".inf", "012", "1_000", "=", "<<"}
	c, _ := load(t, `name: bank
record:
  missing: []
  label: {column: y, classes: [no, yes, true, 1, null], positive: 1}
  features:
    - {name: on, kind: ordinal, levels: [1, 1.0, 0x1F, true, True, no, off, null, ~, 2020-01-01,
        1e3, " a ", "", "a: b", NaN, .inf, 012, 1_000, =, "<<"]}
`)
	if got := c.Record.Label.Classes; !slices.Equal(got, []string{"no", "yes", "true", "1", "null"}) ||
		c.Record.Label.Positive != "1" {
		t.Errorf("classes %q, positive %q", got, c.Record.Label.Positive)
	}
	if got := c.Record.Features[0].Levels; !slices.Equal(got, levels) {
		t.Errorf("levels\n%q, want\n%q", got, levels)
	}
	again, _ := load(t, string(c.Redacted()))
	again.places = c.places
	if !reflect.DeepEqual(again, c) {
		t.Errorf("the dump reads back as another configuration:\n%s", c.Redacted())
	}
}

func TestVariables(t *testing.T) {
	c, _ := load(t, minimal+`output: {why: ${SEVEN}}
http: {listen: "${HOST}:80", token: "$${A}$$${A}${A}"}
lift: {profiles: {of: ["${YES}"]}}
topics: {dead: ${A}-dead} # ${NOT_A_VALUE}
`)
	if c.Output.Why != 7 || c.HTTP.Listen != "10.0.0.1:80" || c.HTTP.Token != "${A}$${A}alpha" ||
		c.Lift.Profiles.Of[0] != "yes" || c.Topics.Dead != "alpha-dead" {
		t.Errorf("why %d, listen %q, token %q, of %q", c.Output.Why, c.HTTP.Listen, c.HTTP.Token.Reveal(), c.Lift.Profiles.Of)
	}
}

// Without an environment a file is checked as far as it can be: z may be a feature whose name is not seen.
func TestVariablesUnknown(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Parse("full.yaml", data, nil); err != nil {
		t.Error(err)
	}
	const text = `name: ${A}
record:
  id: ${ID}
  label: {column: ${C}, classes: [no, "${C}", "${D}"], positive: maybe}
  features: [{name: "${F}", kind: "${K}"}, {name: "${G}", kind: continuous, use: "${U}"}]
lift: {quantiles: ${Q}, sets: {min: 9, max: ${M}}, profiles: {of: ["${C}"]}}
propensity: {half_lives: ["${X}", "${Y}", 0], monotone: {z: up}}
kafka: {brokers: ["${H}:1", "${H}:2"], tls: {cert: a, key: ${T}},
  sasl: {mechanism: "${S}", username: "${S}", password: ${S}}}
policy: {dead_share: 2}
`
	_, _, err = Parse("t.yaml", []byte(text), nil)
	want := `t.yaml:10: policy.dead_share must be at least 0 and at most 1, not 2: it is a share; 0 never pauses`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestAllProblemsInOnePassByLine(t *testing.T) {
	_, _, err := Parse("t.yaml", []byte(`name: bank
record:
  label: {column: class, classes: [no, yes], positive: yse}
  features:
    - {name: age, kind: continous}
    - {name: why, kind: nominal}
lift:
  quantiles: 1
  quantile: 3
knots: 5
`), environment)
	want := `t.yaml:3: record.label.positive: "yse" is not one of record.label.classes (did you mean "yes"?)
t.yaml:5: record.features[0].kind must be continuous, ordinal or nominal, not "continous" (did you mean "continuous"?)
t.yaml:6: feature "why" has the name of a column of the scores: rename it
t.yaml:8: lift.quantiles must be at least 2 and at most 100, not 1: one cell tells nothing apart, and cells need records
t.yaml:9: unknown key "quantile" in lift (did you mean "quantiles"?)
t.yaml:10: unknown key "knots" in the configuration: it belongs to propensity.calibration`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestMisspeltRequiredKeyIsNotMissingToo(t *testing.T) {
	_, _, err := Parse("t.yaml", []byte(`name: bank
record:
  lable: {column: class, classes: [no, yes]}
  features: [{nme: age, kind: continuous}]
`), environment)
	want := `t.yaml:3: unknown key "lable" in record (did you mean "label"?)
t.yaml:4: unknown key "nme" in record.features[0] (did you mean "name"?)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestLoadOfNoFile(t *testing.T) {
	_, _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), environment)
	var problems Problems
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, &problems) {
		t.Errorf("got %v", err)
	}
}

// fillPointers makes every optional section present.
func fillPointers(c *Config) *Config {
	c.Labels, c.Kafka.Embedded, c.Kafka.TLS, c.Kafka.SASL = new(Labels), new(Embedded), new(TLS), new(SASL)
	c.Labels.setDefaults()
	c.Dedup = new(Dedup)
	c.Control, c.Value, c.Points = new(Control), new(Value), new(Points)
	c.Dedup.setDefaults()
	return c
}

func TestEveryNumberHasItsBounds(t *testing.T) {
	rows := map[string]int{}
	for _, b := range bounds {
		rows[fmt.Sprint(b.path, b.duration)]++
		if b.why == "" || b.low >= b.high {
			t.Errorf("row %+v", b)
		}
	}
	need := func(path string, v reflect.Value) {
		var keys []string
		switch v.Interface().(type) {
		case HalfLife:
			keys = []string{path + "false", path + "true"}
		case AutoFloat, ByteSize, Duration, int, int64, float64:
			keys = []string{path + "false"}
		}
		for _, k := range keys {
			if rows[k] != 1 {
				t.Errorf("%s has %d rows in the table of bounds", k, rows[k])
			}
			delete(rows, k)
		}
	}
	leaves(reflect.ValueOf(fillPointers(Default("bank"))), "", func(path string, v reflect.Value) {
		if v.Kind() == reflect.Slice {
			need(path+"[]", reflect.Zero(v.Type().Elem()))
			return
		}
		need(path, v)
	})
	if len(rows) > 0 {
		t.Errorf("rows for keys that are not: %v", rows)
	}
}

// alone is the least file with one setting. Other rules ask that one of a pair is not larger than the other, which is
// set as well then.
func alone(path, value string) string {
	message := "message: 1KiB, "
	with := map[string]string{"lift.sets.min": "max: 16, ", "lift.sets.max": "min: 1, ",
		"local.neighbours": "prototypes: 65536, ", "local.prototypes": "neighbours: 1, ",
		"memory.message": "in_flight: 4GiB, ", "memory.decoded": message, "memory.in_flight": message,
		"memory.batch": message, "value.contact": "hit: 1e12, "}[path]
	path, list := strings.CutSuffix(path, "[]")
	if list {
		value = "[" + value + "]"
	}
	keys := strings.Split(path, ".")
	last := len(keys) - 1
	open := strings.Join(keys[:last], ": {")
	if last > 0 {
		open += ": {"
	}
	return strings.Replace(minimal, "record:\n", "record:\n  id: who\n", 1) + open + with + keys[last] + ": " + value +
		strings.Repeat("}", last) + "\n"
}

// Each bound holds at its ends and not beyond them, in a file.
func TestBoundsAtTheirEnds(t *testing.T) {
	kinds := map[string]reflect.Value{}
	leaves(reflect.ValueOf(fillPointers(Default("bank"))), "", func(path string, v reflect.Value) {
		if v.Kind() == reflect.Slice {
			kinds[path+"[]"] = reflect.Zero(v.Type().Elem())
			return
		}
		kinds[path] = v
	})
	for _, b := range bounds {
		var show func(float64) string
		whole := true
		switch kinds[b.path].Interface().(type) {
		case ByteSize:
			show = func(f float64) string { return strconv.FormatInt(int64(f), 10) }
		case Duration:
			show = showDuration
		case HalfLife:
			show = formatFloat
			if b.duration {
				show = showDuration
			}
		case int, int64:
			show = formatFloat
		default:
			show, whole = formatFloat, false
		}
		step := 1.0
		if !whole {
			step = 1e-9
		}
		above := b.high + step*max(1, b.high)
		if whole && b.high < 1e15 || b.high == exact {
			above = b.high + 1
		} else if whole {
			above = b.high * 1.001
		}
		beyond := []float64{b.low - step, above}
		if b.orZero {
			beyond[0] = -1
		}
		within := []float64{b.low, b.high}
		if b.openLow {
			beyond[0], within[0] = b.low, b.low+step
		}
		if b.openHigh {
			beyond[1], within[1] = b.high, b.high-step
		}
		if b.orZero {
			within = append(within, 0)
			beyond = append(beyond, b.low/2)
		}
		try := func(x float64) error {
			_, _, err := Parse("t.yaml", []byte(alone(b.path, show(x))), environment)
			return err
		}
		for _, x := range within {
			if err := try(x); err != nil {
				t.Errorf("%s at %v: %v", b.path, x, err)
			}
		}
		for _, x := range beyond {
			var problems Problems
			if err := try(x); !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Message, b.why) {
				t.Errorf("%s at %v: got %v", b.path, x, err)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ extra, want string }{
		{"lift: {sets: {max: 3}, profiles: {max_features: 3}}\n" +
			"local: {theta: auto, width: 5e-2}\nkernel: {widths: [0.1, 1.0, 10]}\n", ""},
		{"lift: {sets: {max: 2}, profiles: {max_features: 1}}\n", ""},
		{"lift: {sets: {max: 4}, profiles: {max_features: 4}}\n", ""},
		{"local:\n  neighbours: 9\nkernel: {mode: ridge}\npolicy: {dead_share: 0.2}\n", ""},
		{"kafka: {sasl: {mechanism: PLAIN, username: u, password: p}}\n",
			"t.yaml:7: warning: kafka.sasl.mechanism PLAIN without kafka.tls sends the password in clear text"},
		{"kafka: {tls: {}, sasl: {mechanism: PLAIN, username: u, password: p}}\n", ""},
		{"labels: {window: 7d}\npolicy: {past: 7d}\n", ""},
		{"labels: {window: 7d}\npolicy: {past: 0}\n", ""},
		{"labels: {window: 7d}\npolicy: {past: 1d}\n",
			"t.yaml:8: warning: policy.past 1d is shorter than labels.window 7d: after an outage of that length the waiting " +
				"events and labels become dead letters"},
	} {
		_, ws, err := Parse("t.yaml", []byte(minimal+c.extra), environment)
		var got []string
		for _, w := range ws {
			got = append(got, w.String())
		}
		if err != nil || strings.Join(got, "\n") != c.want {
			t.Errorf("%q: %v, got\n%s\nwant\n%s", c.extra, err, strings.Join(got, "\n"), c.want)
		}
	}
	_, ws := load(t, strings.Replace(minimal, "[no, yes]", "[no, yes, NA]", 1))
	if len(ws) != 1 || ws[0].Line != 3 || !strings.Contains(ws[0].Message, "record.missing") {
		t.Errorf("class NA that is a missing mark: %v", ws)
	}
	_, ws = load(t, strings.Replace(minimal, "kind: nominal", `kind: nominal, levels: [a, "?"]`, 1))
	if len(ws) != 1 || ws[0].Line != 6 || !strings.Contains(ws[0].Message, "record.missing") {
		t.Errorf("level ? that is a missing mark: %v", ws)
	}
}

// The example of the documentation names every key.
func TestFullFileNamesEveryKey(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places(reflect.TypeFor[Config](), "", nil) {
		if !regexp.MustCompile(`\b` + p.key + `:`).Match(data) {
			t.Errorf("%s is not in testdata/full.yaml", join(p.section, p.key))
		}
	}
}

func ExampleParse() {
	_, _, err := Parse("a.yaml", []byte(`name: bank
record:
  label: {column: class, classes: [no, yes]}
  features: [{name: age, kind: nominall}]
lift: {knots: 25}
`), os.LookupEnv)
	fmt.Println(err)
	// Output:
	// a.yaml:4: record.features[0].kind must be continuous, ordinal or nominal, not "nominall" (did you mean "nominal"?)
	// a.yaml:5: unknown key "knots" in lift: it belongs to propensity.calibration
}

func TestTooManyFeatures(t *testing.T) {
	modeltest.Computes(t)
	text := minimal
	for i := range MaxFeatures {
		text += fmt.Sprintf("    - {name: f%d, kind: continuous}\n", i)
	}
	_, _, err := Parse("t.yaml", []byte(text), environment)
	want := Problem{File: "t.yaml", Line: 4, Message: "record.features lists 10002 features; at most 10000 are possible"}
	var problem Problem
	if !errors.As(err, &problem) || problem != want {
		t.Errorf("got %v, want %v", err, want)
	}
}
