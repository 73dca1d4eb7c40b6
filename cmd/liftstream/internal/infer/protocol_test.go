package infer

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/config"
	"liftstream/stream"
)

// answer is a response of the protocol as a client reads it, its tensors by name.
type answer struct {
	Model   string   `json:"model_name"`
	Version *string  `json:"model_version"`
	ID      string   `json:"id"`
	Outputs []tensor `json:"outputs"`
}

func (a *answer) tensor(t *testing.T, name string, into any) tensor {
	t.Helper()
	for _, x := range a.Outputs {
		if x.Name == name {
			if err := json.Unmarshal(x.Data, into); err != nil {
				t.Fatalf("%s: %v in %s", name, err, x.Data)
			}
			return x
		}
	}
	t.Fatalf("there is no output %s", name)
	return tensor{}
}

// TestInferIsPlainByColumns: tensors of every datatype, in both shapes of a column, give the scores of the same records
// as objects.
func TestInferIsPlainByColumns(t *testing.T) {
	w := newWorld(t, "", nil)
	ids := []string{idOf(1, 0), idOf(0, 0), idOf(0, 1)}
	objects := fmt.Sprintf(`[{"customer": %q, "age": 41.5, "plan": "plus"}, {"customer": %q, "age": null, "plan": true},
		{"customer": %q, "age": 3, "plan": null}]`, ids[0], ids[1], ids[2])
	var plain []map[string]any
	if err := json.Unmarshal(w.send("POST", "/v1/score?reasons=true", objects).Body.Bytes(), &plain); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"id": "q7", "parameters": {"reasons": true, "client": "x"}, "inputs": [
		{"name": "customer", "shape": [3], "datatype": "BYTES", "data": [%q, %q, %q]},
		{"name": "age", "shape": [3, 1], "datatype": "FP32", "data": [[41.5], [null], [3]]},
		{"name": "plan", "shape": [3], "datatype": "BYTES", "parameters": {}, "data": ["plus", "true", null]},
		{"name": "more", "shape": [3, 1, 1], "datatype": "INT64", "data": [[[1]], [[-9223372036854775808]], [[3]]]},
		{"name": "flag", "shape": [3], "datatype": "BOOL", "data": [true, false, null]},
		{"name": "big", "shape": [3], "datatype": "UINT64", "data": [18446744073709551615, 0, 1]}]}`, ids[0], ids[1], ids[2])
	got := w.send("POST", "/v2/models/shop/infer", body)
	var a answer
	if err := json.Unmarshal(got.Body.Bytes(), &a); got.Code != http.StatusOK || err != nil {
		t.Fatalf("status %d: %s, %v", got.Code, got.Body.String(), err)
	}
	if a.Model != "shop" || a.Version == nil || *a.Version != "0" || a.ID != "q7" || len(a.Outputs) != len(plain[0]) {
		t.Errorf("model %s, version %v, id %s, %d outputs", a.Model, a.Version, a.ID, len(a.Outputs))
	}
	for _, x := range a.Outputs {
		if !reflect.DeepEqual(x.Shape, []int64{3}) || datatypes[x.Datatype] == 0 {
			t.Errorf("%s has shape %v and datatype %s", x.Name, x.Shape, x.Datatype)
		}
		var values []any
		if err := json.Unmarshal(x.Data, &values); err != nil || len(values) != 3 {
			t.Fatalf("%s: %s", x.Name, x.Data)
		}
		for i, v := range values {
			want := plain[i][x.Name]
			switch text, is := v.(string); {
			case is && text == "" && want == nil:
				v = nil
			case is && text != want:
				var list any
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					t.Fatal(err)
				}
				v = list
			}
			if !reflect.DeepEqual(v, want) {
				t.Errorf("%s of record %d is %v, as an object %v", x.Name, i+1, v, want)
			}
		}
	}
	var p []float64
	var segment []string
	if x := a.tensor(t, "propensity_yes", &p); x.Datatype != "FP64" {
		t.Errorf("propensities are %s", x.Datatype)
	}
	if x := a.tensor(t, "segment", &segment); x.Datatype != "BYTES" || segment[0] == "" {
		t.Errorf("segments are %s %v", x.Datatype, segment)
	}
	// The outputs that are asked for, in their order.
	some := strings.Replace(body, `"inputs"`, `"outputs": [{"name": "lift"}, {"name": "segment"}], "inputs"`, 1)
	a = answer{}
	if err := json.Unmarshal(w.send("POST", "/v2/models/shop/infer", some).Body.Bytes(), &a); err != nil ||
		len(a.Outputs) != 2 || a.Outputs[0].Name != "lift" || a.Outputs[1].Name != "segment" {
		t.Errorf("%v: outputs %+v", err, a.Outputs)
	}
}

// TestMetadataAndHealth, as the protocol has them: the keys of $metadata_server_response, $metadata_model_response and
// $inference_response.
func TestMetadataAndHealth(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, c := range []struct {
		path  string
		ready bool
		code  int
		want  string
	}{
		{"/v2", true, 200, `{"extensions":[],"name":"liftstream","version":"1.2.3"}`},
		{"/v2/health/live", false, 200, `{"live":true}`},
		{"/v2/health/ready", true, 200, `{"ready":true}`},
		{"/v2/health/ready", false, 503, `{"ready":false}`},
		{"/v2/models/shop/ready", true, 200, `{"name":"shop","ready":true}`},
		{"/v2/models/shop/ready", false, 503, `{"name":"shop","ready":false}`},
		{"/v2/models/other/ready", true, 404, `{"error":"there is no model \"other\"; this one is \"shop\""}`},
		{"/v2/models/other", true, 404, `{"error":"there is no model \"other\"; this one is \"shop\""}`},
	} {
		w.ready = c.ready
		if got := w.send("GET", c.path, ""); got.Code != c.code || strings.TrimSpace(got.Body.String()) != c.want {
			t.Errorf("%s: %d %s, want %d %s", c.path, got.Code, got.Body.String(), c.code, c.want)
		}
	}
	var m struct {
		Name, Platform  string
		Versions        []string
		Inputs, Outputs []metadata
	}
	if err := json.Unmarshal(w.send("GET", "/v2/models/shop", "").Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	want := []metadata{{"age", "FP64", []int{-1}}, {"plan", "BYTES", []int{-1}}, {"customer", "BYTES", []int{-1}}}
	if m.Name != "shop" || m.Platform == "" || !reflect.DeepEqual(m.Versions, []string{"7"}) ||
		!reflect.DeepEqual(m.Inputs, want) || len(m.Outputs) < 10 {
		t.Errorf("%+v", m)
	}
}

// TestDerivedFeaturesAreNoInputs: their columns are.
func TestDerivedFeaturesAreNoInputs(t *testing.T) {
	text := strings.Replace(testConfig, "kind: nominal}]", "kind: nominal}, {name: since, kind: nominal, use: never}]",
		1) + "derive: {hour: hour(since)}\n"
	c, _, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	st, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	service, err := New(Options{Name: c.Name, Codec: st.Codec, Limits: c.HTTP.Score, Now: time.Now,
		Stage: Stage{Status: func() stream.Status { return stream.Status{} }}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{mux: http.NewServeMux()}
	service.Register(w.mux)
	var m struct{ Inputs []metadata }
	if err := json.Unmarshal(w.send("GET", "/v2/models/shop", "").Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	want := []metadata{{"age", "FP64", []int{-1}}, {"plan", "BYTES", []int{-1}}, {"since", "BYTES", []int{-1}},
		{"customer", "BYTES", []int{-1}}}
	if !reflect.DeepEqual(m.Inputs, want) {
		t.Errorf("the inputs are %+v", m.Inputs)
	}
}

var example = regexp.MustCompile("(?s)```sh\ncurl (.*?)```\n\n```json\n(.*?)```")

// TestExamplesOfThePage sends the requests of SCORE.md, and gets the answers that it shows; numbers to a thousandth.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("SCORE.md")
	if err != nil {
		t.Fatal(err)
	}
	all := example.FindAllStringSubmatch(string(page), -1)
	if len(all) < 4 {
		t.Fatalf("%d examples", len(all))
	}
	for _, m := range all {
		command := strings.ReplaceAll(m[1], "\\\n", "")
		address, body, posts := strings.Cut(command, " -d '")
		_, path, _ := strings.Cut(strings.TrimSpace(address), "localhost:8080")
		method := "GET"
		if posts {
			method, body = "POST", strings.TrimSuffix(strings.TrimSpace(body), "'")
		}
		w := newWorld(t, "http: {score: {rows: 2}}\n", nil)
		got := w.send(method, strings.Trim(path, `'"`), body)
		var is, want any
		if json.Unmarshal(got.Body.Bytes(), &is) != nil || json.Unmarshal([]byte(m[2]), &want) != nil || !alike(is, want) {
			t.Errorf("%s\nanswers\n%s\nthe page shows\n%s", command, got.Body.String(), m[2])
		}
	}
}

// TestInferIsBounded: a long name is not repeated for each record, and a long integer is not worked out.
func TestInferIsBounded(t *testing.T) {
	w := newWorld(t, "", nil)
	long := strings.Repeat("n", 3<<20)
	flat := "[" + strings.Repeat("1,", 999) + "1]"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code := w.send("POST", "/v2/models/shop/infer", `{"inputs": [{"name": "`+long+
		`", "shape": [1000], "datatype": "FP64", "data": `+flat+`}]}`).Code
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; code != http.StatusRequestEntityTooLarge || bytes > 100<<20 {
		t.Errorf("a name of 3 MiB: status %d, %d bytes", code, bytes)
	}
	for value, want := range map[string]bool{"18446744073709551615": true, "-9223372036854775808": true,
		"-9223372036854775809": false, "18446744073709551616": false, strings.Repeat("9", 1<<20): false} {
		_, signed := valueOf("INT64", json.Number(value))
		_, unsigned := valueOf("UINT64", json.Number(value))
		if got := signed || unsigned; got != want {
			t.Errorf("%.30s: %v, want %v", value, got, want)
		}
	}
}

// alike compares two values of JSON, numbers to a thousandth.
func alike(a, b any) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && math.Abs(x-y) < .001
	case []any:
		y, ok := b.([]any)
		ok = ok && len(x) == len(y)
		for i := 0; ok && i < len(x); i++ {
			ok = alike(x[i], y[i])
		}
		return ok
	case map[string]any:
		y, ok := b.(map[string]any)
		ok = ok && len(x) == len(y)
		for k := range x {
			ok = ok && alike(x[k], y[k])
		}
		return ok
	}
	return a == b
}

// FuzzRequests: no bytes make a request panic, an answer is JSON, and a refusal says why.
func FuzzRequests(f *testing.F) {
	w := newWorld(f, "http: {score: {rows: 20, body: 64KiB, rate: 0}}\n", nil)
	for _, seed := range []string{
		`{"customer": "a", "age": 1, "plan": "b"}`, `[{"age": 1e400, "plan": null}, {"plan": [[]], "age": -0}]`,
		"{\"age\":\"\\ud800\",\"plan\":\"\xff\"}\n{}", `{"age": 1, "age": 2}`, "[[[[[[[[", `{"a":{"b":[{"c":`,
		"null", "[]", " ",
		`{"inputs": [{"name": "age", "shape": [2, 1], "datatype": "FP64", "data": [[1], [null]]},
			{"name": "plan", "shape": [2], "datatype": "BYTES", "data": ["a", "\u0000"]}], "outputs": [{"name": "why"}]}`,
		`{"inputs": [{"name": "", "shape": [0], "data": []}]}`, `{"inputs": [{"shape": [1e30]}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/score", "/v2/models/shop/infer"} {
			got := w.send("POST", path, body)
			whole := json.Valid(got.Body.Bytes())
			for line := range strings.Lines(got.Body.String()) {
				if !whole && !json.Valid([]byte(line)) {
					t.Errorf("%s: %s", path, line)
				}
			}
			var e struct{ Error string }
			if got.Code >= 500 || got.Code >= 400 && (json.Unmarshal(got.Body.Bytes(), &e) != nil || e.Error == "") {
				t.Errorf("%s: %d %s", path, got.Code, got.Body.String())
			}
		}
	})
}
