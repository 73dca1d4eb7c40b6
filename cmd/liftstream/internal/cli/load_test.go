package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/config"
)

func TestTwins(t *testing.T) {
	const minimal = `name: bank
record:
  label: {column: y, classes: [%s]}
  features:
    - {name: age, kind: continuous}
    - {name: job, kind: nominal, levels: [%s]}
`
	for _, c := range []struct{ classes, levels, want string }{
		{"no, yes", `a, b, x, 1, 2.5, 007, 7, "+7"`, ""},
		{"0, 1", "true, false", ""},
		{"1, 1.0", "a, b", `3 record.label.classes[1]: "1" and "1.0" are one value`},
		{"no, True, x, true", "a, b", `3 record.label.classes[3]: "True" and "true" are one value`},
		{"0, 1, true", "a, b", `3 record.label.classes[2]: "1" and "true" are one value`},
		{"no, yes", "2.5, 2.50", `6 record.features[1].levels[1]: "2.5" and "2.50" are one value in two texts: which level`},
		{"no, yes", "2024-05-01, 2024-05-01T00:00:00Z", `6 record.features[1].levels[1]: "2024-05-01" and "2024-05-01T00`},
		{`no, "-0", 0`, "1, x, 1e+00, 1.", `3 record.label.classes[2]: "-0" and "0" are one value|` +
			`6 record.features[1].levels[2]: "1" and "1e+00" are one|6 record.features[1].levels[3]: "1" and "1." are one`},
		{"${ONE}, 1.0", "a, b", `3 record.label.classes[1]: the value of "${ONE}" and "1.0" are one value`},
	} {
		env := func(string) (string, bool) { return "1", true }
		got, ws, err := config.Parse("t.yaml", fmt.Appendf(nil, minimal, c.classes, c.levels), env)
		if err != nil || len(ws) > 0 {
			t.Errorf("classes %s, levels %s: %v %v", c.classes, c.levels, ws, err)
			continue
		}
		var found []string
		for _, w := range Twins(got) {
			if w.File != "t.yaml" {
				t.Errorf("a warning of file %q", w.File)
			}
			found = append(found, fmt.Sprintf("%d %s", w.Line, w.Message))
		}
		want := strings.Split(c.want, "|")
		ok := len(found) == len(want) || c.want == "" && len(found) == 0
		for i := range found {
			ok = ok && strings.HasPrefix(found[i], want[i])
		}
		if !ok {
			t.Errorf("classes %s, levels %s: got %q, want %q", c.classes, c.levels, found, want)
		}
	}
	if ws := Twins(nil); ws != nil {
		t.Errorf("of no configuration: %v", ws)
	}
}

// TestSecretsThatOfflineCommandsDoNotNeed: of the sections kafka and http alone, each by itself; the rest of the
// configuration is the same.
func TestSecretsThatOfflineCommandsDoNotNeed(t *testing.T) {
	const text = `name: %s
record:
  label: {column: y, classes: [no, yes]}
  features:
    - {name: age, kind: continuous}
kafka: {brokers: ["%s"], sasl: {mechanism: PLAIN, username: u, password: %s}}
http: {token: %s}
`
	t.Setenv("LIFTSTREAM_TEST_GIVEN", "given")
	for _, c := range []struct {
		name, broker, password, token string
		offline, live                 string // the error; "" = none
	}{
		{"n", "b:9092", "p", "t", "", ""},
		{"n", "b:9092", "${LIFTSTREAM_TEST_NONE}", "t", "", "LIFTSTREAM_TEST_NONE"},
		{"n", "b:9092", "p", "${LIFTSTREAM_TEST_NONE}", "", "LIFTSTREAM_TEST_NONE"},
		{"n", "b:9092", "${LIFTSTREAM_TEST_NONE}", "${LIFTSTREAM_TEST_NONE}", "", "LIFTSTREAM_TEST_NONE"},
		{"n", "b:9092", "${LIFTSTREAM_TEST_GIVEN}", "${LIFTSTREAM_TEST_GIVEN}", "", ""},
		{"${LIFTSTREAM_TEST_NONE}", "b:9092", "p", "t", "LIFTSTREAM_TEST_NONE", "LIFTSTREAM_TEST_NONE"},
		{"${LIFTSTREAM_TEST_NONE}", "b:9092", "${LIFTSTREAM_TEST_NONE}", "t", "LIFTSTREAM_TEST_NONE",
			"LIFTSTREAM_TEST_NONE"},
		{"${LIFTSTREAM_TEST_GIVEN}", "b:9092", "${LIFTSTREAM_TEST_NONE}", "t", "", "LIFTSTREAM_TEST_NONE"},
		{"n", "b:x", "${LIFTSTREAM_TEST_NONE}", "t", "kafka.brokers", "LIFTSTREAM_TEST_NONE"},
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		b := fmt.Appendf(nil, text, c.name, c.broker, c.password, c.token)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		a := New(nil, io.Discard, io.Discard)
		for how, x := range map[string]struct {
			load func(string) (*config.Config, error)
			want string
		}{"offline": {a.LoadOffline, c.offline}, "live": {a.Load, c.live}} {
			got, err := x.load(path)
			if (err == nil) != (x.want == "") || !strings.Contains(fmt.Sprint(err), x.want) || err != nil &&
				Status(err) != StatusInput {
				t.Errorf("%+v %s: %v, want %q", c, how, err, x.want)
			}
			if err == nil && (strings.HasPrefix(c.name, "$") && got.Name != "given" || got.Record.Label.Column != "y") {
				t.Errorf("%+v %s: the name %s, the label %s", c, how, got.Name, got.Record.Label.Column)
			}
		}
	}
	for _, load := range []func(string) (*config.Config, error){New(nil, nil, nil).Load, New(nil, nil, nil).LoadOffline} {
		if _, err := load(""); Status(err) != StatusUsage {
			t.Errorf("no configuration: %v", err)
		}
	}
}
