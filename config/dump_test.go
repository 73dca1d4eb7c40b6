package config

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretIsNeverShown(t *testing.T) {
	const secret = Secret("hunter2")
	text := fmt.Sprintf("%v %s %q %x %X %d %+v %#v %10s", secret, secret, secret, secret, secret, secret, secret, secret,
		secret)
	text += fmt.Sprint(struct{ S Secret }{secret}, []Secret{secret}, map[Secret]Secret{secret: secret},
		&struct{ S Secret }{secret})
	text += fmt.Sprintf("%#v", SASL{Password: secret})
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := marshal(map[string]any{"a": secret, "b": []Secret{secret}, "c": SASL{Password: secret}})
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) ||
		!strings.Contains(text, "***") {
		t.Errorf("shown in %s", text)
	}
	if secret.Reveal() != "hunter2" || fmt.Sprint(Secret("")) != "" {
		t.Error("the secret is lost, or an absent one looks present")
	}
}

func TestRedacted(t *testing.T) {
	c, _ := load(t, minimal+`topics: {dead: "dead-${DB_PASSWORD}", events: "${A}"}
http: {listen: "${HOST}:80", token: literal-token}
output: {why: ${SEVEN}}
kafka: {tls: {}, sasl: {mechanism: PLAIN, username: me, password: "pre${A}"}}
`)
	got := string(c.Redacted())
	for _, never := range []string{"s3cr3t", "literal-token", "alpha", "prea"} {
		if strings.Contains(got, never) || strings.Contains(fmt.Sprint(c), never) ||
			strings.Contains(fmt.Sprintf("%v %+v", c, *c), "literal-token") {
			t.Errorf("%q is shown in\n%s", never, got)
		}
	}
	for _, want := range []string{"10.0.0.1:80", "username: me", "token: '***'", "password: '***'", "dead: '***'",
		"events: '***'", "why: 7"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if !reflect.DeepEqual(c.Redacted(), c.Redacted()) {
		t.Error("two dumps differ")
	}
}

func TestRedactedReadsBack(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(full), minimal,
		minimal + "kafka: {embedded: {dir: \"a $${X} b\"}}\nlabels: {on_expiry: no, window: 90m}\n",
		strings.Replace(minimal, "  label:", "  time: {column: \"a in s\", unit: us}\n  label:", 1),
		minimal + "lift: {profiles: {of: []}}\nlocal: {theta: 0.30}\nfit: {reservoir: {bytes: 1e6}}\nkafka: {tls: {}}\n",
		strings.Replace(minimal, "kind: nominal",
			`kind: ordinal, levels: ["a\nb", "\u00e9", "#", "- x", "${A}", "'", "\"", "%", "@", "|"]`, 1) +
			"propensity: {monotone: {job: auto, age: down}, half_lives: [1d, 90s, 1500ms, 2.5]}\n",
	} {
		c, _ := load(t, text)
		again, _ := load(t, string(c.Redacted()))
		if c.Kafka.SASL != nil {
			again.Kafka.SASL.Password, again.HTTP.Token = c.Kafka.SASL.Password, c.HTTP.Token
			again.Registry.Password = c.Registry.Password
		}
		again.masked, again.places = c.masked, c.places
		if !reflect.DeepEqual(again, c) {
			t.Errorf("the dump of\n%s\nreads back as another configuration:\n%s", text, c.Redacted())
		}
		if again.Fingerprint() != c.Fingerprint() {
			t.Errorf("the dump of\n%s\nhas another fingerprint", text)
		}
	}
}

func TestFingerprintOfMeaningOnly(t *testing.T) {
	c, _ := load(t, minimal)
	want := c.Fingerprint()
	for _, same := range []string{
		"# a comment\n" + minimal + "# another\n",
		`record:
  features: [{kind: continuous, name: age, use: score}, {kind: "nominal", name: job}]
  label:
    positive: "yes"
    classes: ["no", 'yes']
    column: class
name: bank
`,
		strings.Replace(minimal, "name: bank", "name: other", 1),
		minimal + "lift: {quantiles: 5, sets: {max: 3}}\npropensity: {half_lives: [3, 2e1, 200, 2000, 0s], step: 1e-1}\n",
		minimal + "kafka: {brokers: ['b:1']}\nhttp: {listen: 'localhost:1'}\ntopics: {events: x}\n" +
			"commit: {interval: 1s}\nmemory: {tail: 1MiB}\n",
		minimal + "fit: {every: 5s, warmup: 10}\nlabels: {window: 1d}\noutput: {why: 1}\n" +
			"snapshot: {interval: 5s}\nshutdown: {grace: 5s}\n",
	} {
		if c, _ := load(t, same); c.Fingerprint() != want {
			t.Errorf("another fingerprint for\n%s", same)
		}
	}
	seen := map[uint64]string{want: minimal}
	for _, other := range []string{
		strings.Replace(minimal, "[no, yes]", "[yes, no]", 1),
		strings.Replace(minimal, "[no, yes]", "[no, yes, maybe]", 1),
		strings.Replace(minimal, ", positive: yes", "", 1),
		strings.Replace(minimal, "name: age", "name: Age", 1),
		strings.Replace(minimal, "kind: nominal", "kind: nominal, levels: [a, b]", 1),
		strings.Replace(minimal, "kind: nominal", "kind: nominal, levels: [ab]", 1),
		strings.Replace(minimal, "kind: nominal", "kind: nominal, use: report", 1),
		strings.Replace(minimal, "  label:", "  weight: w\n  label:", 1),
		strings.Replace(minimal, "  label:", "  time: at\n  label:", 1),
		strings.Replace(minimal, "  label:", "  time: {column: at, unit: s}\n  label:", 1),
		strings.Replace(minimal, "  label:", "  missing: []\n  label:", 1),
		minimal + "lift: {quantiles: 6}\n", minimal + "lift: {profiles: {of: [yes]}}\n", minimal +
			"lift: {profiles: {of: [no, yes]}}\n",
		minimal + "propensity: {half_lives: [20, 200, 2000]}\n", minimal + "propensity: {half_lives: [20, 200, 2000s, 0]}\n",
		minimal + "propensity: {monotone: {age: up}}\n", minimal + "propensity: {monotone: {age: down}}\n", minimal +
			"propensity: {linear: false}\n",
		minimal + "propensity: {base_rates: {no: 0.5, yes: 0.5}}\n", minimal +
			"propensity: {base_rates: {no: 0.25, yes: 0.75}}\n",
		strings.Replace(minimal, "nominal", "continuous", 1) + "propensity: {monotone: {age: up}}\n",
		strings.Replace(minimal, "nominal", "continuous", 1) + "propensity: {monotone: {job: up}}\n",
		minimal + "local: {theta: 0}\n", minimal + "kernel: {mode: ridge}\n", minimal + "trees: {gate: 2}\n",
		minimal + "fit: {seed: 2}\n",
	} {
		c, _ := load(t, other)
		if same, ok := seen[c.Fingerprint()]; ok {
			t.Errorf("one fingerprint for\n%s\nand\n%s", other, same)
		}
		seen[c.Fingerprint()] = other
	}
}
