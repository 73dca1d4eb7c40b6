package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream"
)

const testConfig = `
name: shop
record:
  id: customer
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: age, kind: continuous}, {name: plan, kind: nominal}]
local: off
kernel: off
trees: off
fit: {warmup: 50}
control: {share: 0.3}
min_count: 1
`

// world is a stage of partitions in this process, without topics, and its service.
type world struct {
	*assemble.Stage
	parts   map[int]*model.Partition
	of      int
	ready   bool
	err     error // of the next question
	mux     *http.ServeMux
	service *Service
	now     time.Time
}

// newWorld has partition 0 of two trained, and partition 1 empty.
func newWorld(t testing.TB, extra string, change func(o *Options)) *world {
	t.Helper()
	return newWorldOf(t, testConfig+extra, change)
}

// newWorldOf is newWorld of another configuration. Partition 0 is trained where the schema is that of taught.
func newWorldOf(t testing.TB, text string, change func(o *Options)) *world {
	t.Helper()
	c, _, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	st, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Stage: st, of: 2, ready: true, now: time.Unix(1_700_000_000, 0), parts: map[int]*model.Partition{}}
	for p := range 2 {
		w.parts[p] = model.NewPartition(st.Spec, int32(p))
	}
	if b := taught(300); len(st.Spec.Schema.Features) == len(b.Columns) {
		w.parts[0].Events(b, &model.Scores{})
	}
	o := Options{Name: c.Name, Version: "1.2.3", Codec: st.Codec, Limits: c.HTTP.Score,
		Now: func() time.Time { return w.now },
		Stage: Stage{
			Ask: func(
				_ context.Context, p int, b *model.Batch, use func(s *model.Scores, l *model.Levels),
			) error {
				if w.err != nil {
					return w.err
				}
				var out model.Scores
				model.Peek(w.parts[p], b, &out, func(l *model.Levels) { use(&out, l) })
				return nil
			},
			Partitions: func() (held []int, of int) {
				for p := range w.parts {
					held = append(held, p)
				}
				slices.Sort(held)
				return held, w.of
			},
			Status: func() stream.Status { return stream.Status{Ready: w.ready, Serving: 7} },
		}}
	if change != nil {
		change(&o)
	}
	if w.service, err = New(o); err != nil {
		t.Fatal(err)
	}
	w.mux = http.NewServeMux()
	w.service.Register(w.mux)
	return w
}

// taught returns n labelled records.
func taught(n int) *model.Batch {
	b := &model.Batch{N: n, Columns: []model.Column{{}, {Levels: []string{"base", "plus"}}}}
	for i := range n {
		h := model.Hash(7, uint64(i))
		b.Columns[0].Float = append(b.Columns[0].Float, float64(h%60))
		b.Columns[1].Code = append(b.Columns[1].Code, uint32(h>>8&1))
		y := int32(0)
		if h%60 > 30 != (h>>20%8 == 0) {
			y = 1
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(i))
		b.ID = append(b.ID, fmt.Sprint("taught ", i))
	}
	return b
}

func (w *world) send(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	return rec
}

// idOf returns the n-th id of a partition of two.
func idOf(partition, n int) string {
	for i := 0; ; i++ {
		id := fmt.Sprint("c", i)
		if stream.PartitionOf(id, 2) != partition {
			continue
		}
		if n == 0 {
			return id
		}
		n--
	}
}

// TestPlainScoresAreThoseOfTheTopic: the columns of an answer are those of the scores topic, byte for byte, without the
// position, in each form of a request; and the reasons come when they are asked for.
func TestPlainScoresAreThoseOfTheTopic(t *testing.T) {
	w := newWorld(t, "", nil)
	objects := []string{
		`{"customer": "` + idOf(0, 0) + `", "age": 41.5, "plan": "plus"}`,
		`{"customer": "` + idOf(1, 0) + `", "age": 20, "plan": "base", "extra": [1, {"a": 2}]}`,
		`{"customer": "` + idOf(0, 1) + `", "age": null, "plan": "never seen", "y": "yes"}`,
	}
	var want []string
	for _, o := range objects {
		want = append(want, w.topic(t, o))
	}
	without := func(row string) string {
		return row[:strings.Index(row, `,"why"`)] + row[strings.Index(row, `,"control"`):]
	}
	for _, c := range []struct{ name, path, body, want string }{
		{"one", "/v1/score?reasons=true", objects[0], want[0]},
		{"one, on several lines", "/v1/score?reasons=true", strings.ReplaceAll(objects[2], ", ", ",\n  "), want[2]},
		{"list", "/v1/score?reasons=true", "[" + strings.Join(objects, ", ") + "]", "[" + strings.Join(want, ",\n") + "]"},
		{"lines", "/v1/score?reasons=true", strings.Join(objects, "\n") + "\n", strings.Join(want, "\n")},
		{"no reasons", "/v1/score", objects[0], without(want[0])},
		{"none", "/v1/score", " [ ] ", "[]"},
	} {
		got := w.send("POST", c.path, c.body)
		if body := strings.TrimSpace(got.Body.String()); got.Code != http.StatusOK || body != c.want {
			t.Errorf("%s: status %d\n%s\nwant\n%s", c.name, got.Code, body, c.want)
		}
	}
	if !strings.Contains(want[0], `"status":"ok"`) || !strings.Contains(want[1], `"status":"untrained"`) {
		t.Errorf("the partitions answer %s and %s", want[0], want[1])
	}
}

// topic is the row of the scores topic for the record, without its position, by a path of its own: the decoder and the
// encoder of messages.
func (w *world) topic(t *testing.T, object string) string {
	t.Helper()
	var x struct {
		Customer, Plan string
		Age            *float64
	}
	if err := json.Unmarshal([]byte(object), &x); err != nil {
		t.Fatal(err)
	}
	age := math.NaN()
	if x.Age != nil {
		age = *x.Age
	}
	p := stream.PartitionOf(x.Customer, 2)
	b := &model.Batch{N: 1, Partition: int32(p), Offset: 77, Row: []int32{3}, ID: []string{x.Customer},
		Label: []int32{model.Unlabelled}, Columns: []model.Column{{Float: []float64{age}},
			{Code: []uint32{0}, Levels: []string{x.Plan}}}}
	q, err := model.RestorePartition(w.Spec, w.parts[p].Snapshot()) // the record moves the state
	if err != nil {
		t.Fatal(err)
	}
	var out model.Scores
	q.Events(b, &out)
	o := w.Codec
	o.Format = codec.FormatJSONL
	e, err := codec.NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	row, err := e.Encode(nil, b, &out, q.Levels(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.Replace(string(row), `"source_offset":77,"source_row":3,`, "", 1))
}

// TestRefusals: each with its status, and the place of its fault.
func TestRefusals(t *testing.T) {
	good := `{"customer": "` + idOf(0, 0) + `", "age": 1, "plan": "base"}`
	tensor := func(rest string) string {
		return `{"inputs": [{"name": "age", "shape": [1], "datatype": "FP64", "data": [1]}, ` + rest + `]}`
	}
	few, many := newWorld(t, "http: {score: {rows: 3, body: 8KiB}}\n", nil), newWorld(t, "", nil)
	for _, c := range []struct {
		name, path, body string
		code             int
		words            string
	}{
		{"nothing", "/v1/score", " ", 400, `{"error":"the request is empty: it holds an object, or a list of objects"}`},
		{"cut", "/v1/score", good + "\n" + good[:20], 400, `"row":2`},
		{"a number", "/v1/score", "[" + good + ", 3]", 400, `{"error":"record 2 is no JSON object","row":2}`},
		{"text behind", "/v1/score", "[" + good + "] x", 400, "text after the list"},
		{"a list behind", "/v1/score", "[" + good + "][]", 400, "text after the list"},
		{"NaN", "/v1/score", `{"age": NaN}`, 400, "not JSON"},
		{"deep", "/v1/score", strings.Repeat("[", 20000), 400, "exceeded max depth"},
		{"deep within", "/v1/score", `{"x":` + strings.Repeat("[", 20000), 400, `"row":1`},
		{"a key twice", "/v1/score", strings.Replace(good, "{", `{"age": 2, `, 1), 400,
			`{"error":"record 1: column \"age\": the key occurs twice","row":1,"column":"age"}`},
		{"no number", "/v1/score", "[" + good + "," + strings.Replace(good, "1,", `"old",`, 1) + "]", 400,
			`{"error":"record 2: column \"age\": holds \"old\": not a number","row":2,"column":"age"}`},
		{"no feature", "/v1/score", `{"customer": "a", "age": 1}`, 400, `column \"plan\": missing`},
		{"an id that is none", "/v1/score", "[" + good + `, {"customer": "", "age": 1, "plan": "a"}]`, 400,
			`"row":2,"column":"customer"`},
		{"a parameter", "/v1/score?why=1", good, 400, `parameter \"why\"`},
		{"reasons", "/v1/score?reasons=perhaps", good, 400, "parameter reasons="},
		{"a partition beside ids", "/v1/score?partition=0", good, 400, "leave out the stated one"},
		{"a partition", "/v1/score?partition=2", `{"age": 1, "plan": "a"}`, 400, "partition 2: there are 2"},
		{"below zero", "/v1/score?partition=-1", `{"age": 1, "plan": "a"}`, 400, "parameter partition="},
		{"many", "/v1/score", "[" + strings.Repeat(good+",", 3) + good + "]", 413, "records than http.score.rows allows, 3"},
		{"many lines", "/v1/score", strings.Repeat(good+"\n", 4), 413, "records than http.score.rows allows, 3"},
		{"large", "/v1/score", `"` + strings.Repeat("x", 9000) + `"`, 413, "http.score.body, 8KiB"},

		{"another model", "/v2/models/x/infer", "{}", 404, `no model \"x\"`},
		{"a version", "/v2/models/shop/versions/1/infer", "{}", 404, "leave /versions/... out"},
		{"no request", "/v2/models/shop/infer", "[]", 400, "not a request of the protocol"},
		{"text behind the request", "/v2/models/shop/infer", "{} {}", 400, "text after the request"},
		{"no inputs", "/v2/models/shop/infer", "{}", 400, "there are no inputs"},
		{"an input twice", "/v2/models/shop/infer", tensor(`{"name": "age"}`), 400, `input \"age\": each needs a name`},
		{"no name", "/v2/models/shop/infer", tensor(`{}`), 400, "each needs a name"},
		{"no shape", "/v2/models/shop/infer", tensor(`{"name": "plan"}`), 400, "its shape must be"},
		{"a matrix", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1, 2]}`), 400, "its shape must be"},
		{"below none", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [-1]}`), 400, "its shape must be"},
		{"huge", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [9000000000000000000]}`), 413, "allows, 3"},
		{"no data", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1], "datatype": "BYTES"}`), 400,
			"a list of 1 values"},
		{"an object", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1], "datatype": "BYTES", "data": [{}]}`),
			400, "holds an object"},
		{"deeper", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1], "datatype": "BYTES", "data": [["a"]]}`),
			400, "nested deeper"},
		{"fewer", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [2], "datatype": "BYTES", "data": ["a"]}`), 400,
			"data has 1 values, its shape says 2"},
		{"more", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1], "datatype": "BYTES", "data": ["a", "b"]}`),
			400, "a list of 1 values"},
		{"other", "/v2/models/shop/infer",
			tensor(`{"name": "plan", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}`), 400,
			"it has 2 records, the first input 1"},
		{"a datatype", "/v2/models/shop/infer", tensor(`{"name": "plan", "shape": [1], "datatype": "TEXT", "data": ["a"]}`),
			400, `not of datatype \"TEXT\"`},
		{"a number for a text", "/v2/models/shop/infer",
			tensor(`{"name": "plan", "shape": [1], "datatype": "BYTES", "data": [1]}`), 400, `not of datatype \"BYTES\"`},
		{"an integer", "/v2/models/shop/infer", tensor(`{"name": "z", "shape": [1], "datatype": "INT8", "data": [128]}`), 400,
			`not of datatype \"INT8\"`},
		{"an unsigned one", "/v2/models/shop/infer",
			tensor(`{"name": "z", "shape": [1], "datatype": "UINT64", "data": [-1]}`), 400, `not of datatype \"UINT64\"`},
		{"a fraction", "/v2/models/shop/infer", tensor(`{"name": "z", "shape": [1], "datatype": "INT64", "data": [1.5]}`),
			400, `not of datatype \"INT64\"`},
		{"binary", "/v2/models/shop/infer", tensor(`{"name": "z", "shape": [1], "datatype": "INT64",
			"parameters": {"binary_data_size": 8}}`), 400, "binary tensors are not read"},
		{"an output", "/v2/models/shop/infer", `{"outputs": [{"name": "x"}]}`, 400, `no output \"x\"`},
		{"an output twice", "/v2/models/shop/infer", `{"outputs": [{"name": "lift"}, {"name": "lift"}]}`, 400, "twice"},
		{"reasons of the protocol", "/v2/models/shop/infer", `{"parameters": {"reasons": 1}}`, 400, "parameter reasons"},
		{"partition of the protocol", "/v2/models/shop/infer", `{"parameters": {"partition": "a"}}`, 400,
			"parameter partition"},
	} {
		w := few
		if strings.HasPrefix(c.name, "deep") {
			w = many
		}
		got := w.send("POST", c.path, c.body)
		var e struct{ Error string }
		if got.Code != c.code || !strings.Contains(got.Body.String(), c.words) ||
			json.Unmarshal(got.Body.Bytes(), &e) != nil || e.Error == "" {
			t.Errorf("%s: status %d: %s; want %d, %s", c.name, got.Code, got.Body.String(), c.code, c.words)
		}
	}
}

// TestWhatTheStageCannotAnswer: a partition of another process, one that is slow, a stage without a group, and a score
// that fails. A request that cannot be answered whole is not answered in part.
func TestWhatTheStageCannotAnswer(t *testing.T) {
	both := `[{"customer": "` + idOf(0, 0) + `", "age": 1, "plan": "a"}, {"customer": "` + idOf(1, 0) +
		`", "age": 1, "plan": "a"}]`
	for _, c := range []struct {
		name   string
		change func(w *world)
		code   int
		words  string
		retry  string
	}{
		{"another holds it", func(w *world) { delete(w.parts, 1) }, 421, `"row":2,"partition":1,"held":[0]}`, ""},
		{"another has it since", func(w *world) { w.err = &stream.NotHeldError{Partition: 0, Held: []int{1}} }, 421,
			`"row":1,"partition":0,"held":[1]}`, ""},
		{"slow", func(w *world) { w.err = &stream.BusyError{Partition: 0, Doing: "restoring"} }, 503,
			`{"error":"partition 0 does not answer in time: restoring","partition":0}`, "1"},
		{"no group", func(w *world) { w.of = 0 }, 503, "not joined its group", "1"},
		{"broken", func(w *world) { w.err = fmt.Errorf("the records cannot be scored") }, 500, "cannot be scored", ""},
	} {
		w := newWorld(t, "", nil)
		c.change(w)
		got := w.send("POST", "/v1/score", both)
		if got.Code != c.code || !strings.Contains(got.Body.String(), c.words) || got.Header().Get("Retry-After") != c.retry {
			t.Errorf("%s: status %d, retry %q: %s", c.name, got.Code, got.Header().Get("Retry-After"), got.Body.String())
		}
	}
	w := newWorld(t, "", nil)
	w.parts = nil
	if got := w.send("POST", "/v1/score", `{"age": 1, "plan": "a"}`); got.Code != 503 {
		t.Errorf("without a partition: status %d: %s", got.Code, got.Body.String())
	}
}

// TestLimits: records a second, with the time after which they fit again, and requests at once.
func TestLimits(t *testing.T) {
	w := newWorld(t, "http: {score: {rows: 4, rate: 10, requests: 1}}\n", nil)
	three := `[{"age": 1, "plan": "a"}, {"age": 1, "plan": "a"}, {"age": 1, "plan": "a"}]`
	var codes []int
	for range 5 {
		codes = append(codes, w.send("POST", "/v1/score", three).Code)
	}
	if !slices.Equal(codes, []int{200, 200, 200, 429, 429}) {
		t.Errorf("of 10 records a second: %v", codes)
	}
	if got := w.send("POST", "/v1/score", three); got.Header().Get("Retry-After") != "1" {
		t.Errorf("it may be sent again after %q", got.Header().Get("Retry-After"))
	}
	w.now = w.now.Add(300 * time.Millisecond)
	if got := w.send("POST", "/v1/score", three); got.Code != http.StatusOK {
		t.Errorf("a third of a second later: %d", got.Code)
	}
	w.service.slots <- struct{}{}
	if got := w.send("POST", "/v1/score", three); got.Code != http.StatusTooManyRequests ||
		!strings.Contains(got.Body.String(), "http.score.requests") {
		t.Errorf("beside another request: %d %s", got.Code, got.Body.String())
	}
	// A page of another site.
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/score", strings.NewReader(three))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	rec := httptest.NewRecorder()
	if w.mux.ServeHTTP(rec, r); rec.Code != http.StatusForbidden ||
		!strings.Contains(rec.Body.String(), `"error"`) {
		t.Errorf("a page of another site: %d", rec.Code)
	}
}

// TestRecordsWithoutAnID are scored by the lowest partition, or by the stated one. They are in no control share.
func TestRecordsWithoutAnID(t *testing.T) {
	w := newWorld(t, "", nil)
	for path, want := range map[string]string{"/v1/score": `"source_partition":0,`,
		"/v1/score?partition=1": `"source_partition":1,`} {
		got := w.send("POST", path, `{"age": 1, "plan": "a"}`)
		b := got.Body.Bytes()
		if got.Code != 200 || !bytes.Contains(b, []byte(want)) || bytes.Contains(b, []byte("control")) {
			t.Errorf("%s: %d %s", path, got.Code, b)
		}
	}
	byRecord := newWorld(t, "", func(o *Options) { o.ByRecord = true })
	if got := byRecord.send("POST", "/v1/score", `{"customer": "a", "age": 1, "plan": "a"}`); got.Code != 200 ||
		strings.Contains(got.Body.String(), "control") {
		t.Errorf("by record: %s", got.Body.String())
	}
}

// TestManyRecordsAreAskedForInParts: no question holds the stream up for more than stream.AskRows records, and the
// answer has all of them in their order, as requests of few have them.
func TestManyRecordsAreAskedForInParts(t *testing.T) {
	var asked []int
	w := newWorld(t, "http: {score: {rows: 5000, body: 4MiB, rate: 100000}}\n", func(o *Options) {
		ask := o.Stage.Ask
		o.Stage.Ask = func(ctx context.Context, p int, b *model.Batch, use func(s *model.Scores, l *model.Levels)) error {
			asked = append(asked, b.N)
			return ask(ctx, p, b, use)
		}
	})
	for _, c := range []struct {
		n, partitions int
		asked         []int
	}{
		{stream.AskRows, 1, []int{stream.AskRows}}, {stream.AskRows + 1, 1, []int{stream.AskRows, 1}},
		{2*stream.AskRows + 7, 1, []int{stream.AskRows, stream.AskRows, 7}},
		{2*stream.AskRows + 8, 2, []int{stream.AskRows, 4, stream.AskRows, 4}},
	} {
		ids := []string{idOf(0, 0), idOf(1, 0)}[:c.partitions]
		var objects, want []string
		for i := range c.n {
			objects = append(objects, fmt.Sprintf(`{"customer": "%s", "age": %d, "plan": "plan %d"}`, ids[i%c.partitions], i%90,
				i%7))
		}
		for part := range slices.Chunk(objects, 500) {
			want = append(want, strings.TrimSpace(w.send("POST", "/v1/score", strings.Join(part, "\n")+"\n").Body.String()))
		}
		asked = nil
		got := w.send("POST", "/v1/score", strings.Join(objects, "\n")+"\n")
		if !slices.Equal(asked, c.asked) {
			t.Errorf("%d records of %d partitions are asked for as %v, want %v", c.n, c.partitions, asked, c.asked)
		}
		if text := strings.TrimSpace(got.Body.String()); got.Code != http.StatusOK || text != strings.Join(want, "\n") {
			t.Errorf("%d records of %d partitions: status %d, other scores than in small requests", c.n, c.partitions, got.Code)
		}
	}
}

// TestAPartMayLackAKey: whether a record may leave a key out does not depend on the part of the request that it is in.
func TestAPartMayLackAKey(t *testing.T) {
	w := newWorld(t, "http: {score: {rows: 5000, body: 4MiB, rate: 100000}}\n", nil)
	for name, c := range map[string]struct {
		n   int
		ids []string // of the records by turns
	}{
		"parts of one partition": {stream.AskRows + 1, []string{""}},
		"two partitions":         {2, []string{idOf(0, 0), idOf(1, 0)}},
	} {
		var lacking, null []string
		for i := range c.n {
			record := `{"age": 12`
			if id := c.ids[i%len(c.ids)]; id != "" {
				record += `, "customer": "` + id + `"`
			}
			whole := record + `, "plan": null}`
			if i == 0 {
				whole = record + `, "plan": "plus"}`
				record = strings.TrimSuffix(whole, "}")
			}
			lacking, null = append(lacking, record+"}"), append(null, whole)
		}
		got := w.send("POST", "/v1/score", strings.Join(lacking, "\n")+"\n")
		want := w.send("POST", "/v1/score", strings.Join(null, "\n")+"\n")
		if got.Code != http.StatusOK || got.Body.String() != want.Body.String() {
			t.Errorf("%s: status %d, %.200s", name, got.Code, got.Body.String())
		}
	}
}

// TestAPartMayLackTheColumnOfADerivedFeature, which no feature is.
func TestAPartMayLackTheColumnOfADerivedFeature(t *testing.T) {
	for name, x := range map[string]struct{ kind, derive, value string }{
		"times":   {"nominal", "hour: hour(since)", `"2024-05-01T07:00:00Z"`},
		"numbers": {"continuous", "log: log(since)", "7"},
	} {
		w := newWorldOf(t, strings.Replace(testConfig, "kind: nominal}]", "kind: nominal}, {name: since, kind: "+x.kind+
			", use: never}]", 1)+"derive: {"+x.derive+"}\n", nil)
		first := `{"customer": "` + idOf(0, 0) + `", "age": 12, "plan": "plus", "since": ` + x.value + "}\n"
		second := `{"customer": "` + idOf(1, 0) + `", "age": 12, "plan": "plus"`
		got := w.send("POST", "/v1/score", first+second+"}\n")
		want := w.send("POST", "/v1/score", first+second+`, "since": null}`+"\n")
		if got.Code != http.StatusOK || got.Body.String() != want.Body.String() {
			t.Errorf("%s: status %d, %.200s", name, got.Code, got.Body.String())
		}
	}
}

// TestARecordMayLackItsTime: it is then asked about as of now.
func TestARecordMayLackItsTime(t *testing.T) {
	w := newWorldOf(t, strings.Replace(testConfig, "id: customer", "id: customer\n  time: at", 1), nil)
	record := `{"customer": "` + idOf(0, 0) + `", "age": 12, "plan": "plus"`
	for _, rest := range []string{"", `, "at": null`, `, "at": "2023-11-14T22:00:00Z"`} {
		if got := w.send("POST", "/v1/score", record+rest+"}\n"); got.Code != http.StatusOK {
			t.Errorf("with %q: status %d, %.200s", rest, got.Code, got.Body.String())
		}
	}
}
