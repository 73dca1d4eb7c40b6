package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/codec"
)

const schema = `{"type":"record","name":"R","fields":[]}`

// fake is a registry of the schemas 1, of Avro, and 2, of JSON. While sick is not 0 it answers with that status.
func fake(t *testing.T, sick *atomic.Int64, calls *atomic.Int64) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer := func(status int, v any) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		}
		fault := func(status, code int, text string) {
			answer(status, map[string]any{"error_code": code, "message": text})
		}
		user, password, _ := r.BasicAuth()
		switch {
		case sick.Load() != 0:
			fault(int(sick.Load()), int(sick.Load()), "sick")
		case user != "u" || password != "p":
			fault(401, 401, "who are you?")
		case r.URL.Path == "/schemas/ids/1":
			answer(200, map[string]any{"schema": schema})
		case r.URL.Path == "/schemas/ids/2":
			answer(200, map[string]any{"schema": `{}`, "schemaType": "JSON"})
		case r.URL.Path == "/schemas/ids/3":
			answer(200, map[string]any{"schema": schema, "references": []any{map[string]any{"name": "x", "subject": "y",
				"version": 1}}})
		case r.URL.Path == "/schemas/ids/4":
			_, _ = fmt.Fprintf(w, `{"schema": "%s"}`, strings.Repeat("x", 8<<20))
		case r.Method == http.MethodPost && r.URL.Path == "/subjects/scores-value/versions":
			answer(200, map[string]any{"id": 77})
		case r.Method == http.MethodPost && r.URL.Path == "/subjects/odd-value/versions":
			answer(200, map[string]any{"id": 1 << 31})
		case r.Method == http.MethodPost && r.URL.Path == "/subjects/wrong-value/versions":
			fault(422, 42201, "no such type")
		case r.Method == http.MethodPost:
			fault(409, 409, "a field is gone")
		case r.URL.Path == "/schemas/ids/2147483648": // the path has no number of 32 bits
			fault(404, 404, "HTTP 404 Not Found")
		default:
			fault(404, 40403, "Schema not found")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestSchemas(t *testing.T) {
	var sick, calls atomic.Int64
	s := fake(t, &sick, &calls)
	r, err := New(Options{URL: s.URL, Username: "u", Password: "p", Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if text, err := r.Avro(1, nil); err != nil || text != schema {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls for one schema", n)
	}
	for id, want := range map[uint32]string{2: "of type JSON", 3: "refers to other schemas", 9: "Schema not found",
		1<<31 - 1: "Schema not found", 1 << 31: "no registry has such an id"} {
		done := make(chan struct{})
		stop := time.AfterFunc(time.Minute, func() { close(done) }) // a call that waits is a failure
		_, err := r.Avro(id, done)
		if stop.Stop(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %d: %v, want %s", id, err, want)
		}
	}
	if problem, failures := r.State(); problem != "" || failures != 0 {
		t.Errorf("an answer counts as none: %q, %d", problem, failures)
	}
}

// TestARegistryThatIsAwayIsWaitedFor: a sick one, one that does not know the account, a proxy in its place, an answer
// without an end, and nobody.
func TestARegistryThatIsAwayIsWaitedFor(t *testing.T) {
	var sick, calls atomic.Int64
	s := fake(t, &sick, &calls)
	for name, c := range map[string]struct {
		status int64
		id     uint32
		user   string
		url    string
	}{"sick": {500, 1, "u", s.URL}, "busy": {429, 1, "u", s.URL}, "a proxy": {404, 1, "u", s.URL},
		"another account": {0, 1, "x", s.URL}, "a long answer": {0, 4, "u", s.URL},
		"nobody": {0, 1, "u", "http://127.0.0.1:1"}} {
		sick.Store(c.status)
		r, err := New(Options{URL: c.url, Username: c.user, Password: "p", Pause: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		done, end := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := r.Avro(c.id, done)
			end <- err
		}()
		for problem, n := "", 0; problem == "" || n < 2; problem, n = r.State() {
			select {
			case err := <-end:
				t.Fatalf("%s: it does not wait: %v", name, err)
			case <-time.After(time.Millisecond):
			}
		}
		if problem := waiting(r); c.url != s.URL && !strings.Contains(problem, "127.0.0.1:1") {
			t.Errorf("%s: %s", name, problem)
		}
		if c.status == 500 {
			sick.Store(0)
			if err := <-end; err != nil {
				t.Errorf("%s, and well again: %v", name, err)
			}
			if problem, _ := r.State(); problem != "" {
				t.Errorf("%s, and well again: %s", name, problem)
			}
			continue
		}
		close(done)
		if err := <-end; !errors.Is(err, codec.ErrStopped) {
			t.Errorf("%s: stopped with %v", name, err)
		}
	}
}

// waiting is the problem of a registry that is waited for.
func waiting(r *Registry) string {
	for {
		if problem, _ := r.State(); problem != "" {
			return problem
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRegister(t *testing.T) {
	var sick, calls atomic.Int64
	s := fake(t, &sick, &calls)
	r, err := New(Options{URL: s.URL, Username: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := r.Register(context.Background(), "scores-value", schema, true); err != nil || id != 77 {
		t.Errorf("%d, %v", id, err)
	}
	if _, err := r.Register(context.Background(), "other-value", schema, true); err == nil ||
		!strings.Contains(err.Error(), "not compatible with the newest one of subject other-value") {
		t.Error(err)
	}
	if _, err := r.Register(context.Background(), "wrong-value", schema, false); err == nil ||
		!strings.Contains(err.Error(), "subject wrong-value at "+s.URL) {
		t.Error(err)
	}
	for _, url := range []string{"", "registry:8081", "ftp://x", "http://"} {
		if _, err := New(Options{URL: url}); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
	if _, err := New(Options{URL: s.URL, CA: "no/such/file"}); err == nil || !strings.Contains(err.Error(),
		"authorities") {
		t.Error(err)
	}
}

// TestRegisterWaits: a registry that is sick, does not know the account, or answers with no id is waited for, until the
// context ends or it answers.
func TestRegisterWaits(t *testing.T) {
	var sick, calls atomic.Int64
	s := fake(t, &sick, &calls)
	for name, c := range map[string]struct {
		status        int64
		user, subject string
	}{"sick": {503, "u", "scores-value"}, "not found": {404, "u", "scores-value"},
		"another account": {0, "x", "scores-value"}, "no id": {0, "u", "odd-value"}} {
		sick.Store(c.status)
		r, err := New(Options{URL: s.URL, Username: c.user, Password: "p", Pause: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		end := make(chan error, 1)
		go func() {
			_, err := r.Register(ctx, c.subject, schema, true)
			end <- err
		}()
		if problem := waiting(r); !strings.Contains(problem, s.URL) {
			t.Errorf("%s: %s", name, problem)
		}
		if c.status == 503 {
			sick.Store(0)
			if err := <-end; err != nil {
				t.Errorf("%s, and well again: %v", name, err)
			}
			if problem, _ := r.State(); problem != "" {
				t.Errorf("%s, and well again: %s", name, problem)
			}
		} else {
			cancel()
			if err := <-end; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: stopped with %v", name, err)
			}
		}
		cancel()
	}
}

// TestAnAnswerEndsTheFault: a registry that was away and has answered is not told of as away while the next call runs,
// also where the answer was that it has no such schema.
func TestAnAnswerEndsTheFault(t *testing.T) {
	for name, id := range map[string]uint32{"a schema": 1, "no schema": 9} {
		var sick, calls atomic.Int64
		asked, answered := make(chan struct{}, 1), make(chan struct{})
		s := fake(t, &sick, &calls)
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/schemas/ids/5" {
				asked <- struct{}{}
				<-answered
			}
			s.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(slow.Close)
		r, err := New(Options{URL: slow.URL, Username: "u", Password: "p", Pause: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		sick.Store(503)
		end := make(chan error, 2)
		ask := func(id uint32) {
			_, err := r.Avro(id, nil)
			end <- err
		}
		go ask(id)
		waiting(r)
		sick.Store(0)
		if err := <-end; (err == nil) != (id == 1) {
			t.Errorf("%s: %v", name, err)
		}
		go ask(5)
		<-asked
		if problem, failures := r.State(); problem != "" || failures == 0 {
			t.Errorf("%s, and another call runs: %q after %d calls without an answer", name, problem, failures)
		}
		close(answered)
		<-end
	}
}

// TestWhoAsks: each account is told to the registry as it was given, and none where there is none.
func TestWhoAsks(t *testing.T) {
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]any{"schema": schema})
	}))
	t.Cleanup(s.Close)
	for want, o := range map[string]Options{"": {}, "Bearer abc": {Token: "abc"},
		"Basic dTpw": {Username: "u", Password: "p"}} {
		o.URL = s.URL
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Avro(1, nil); err != nil {
			t.Error(err)
		}
		if got := <-asked; got != want {
			t.Errorf("it asks as %q, want %q", got, want)
		}
	}
}

// TestTheCacheOfSchemasIsBounded: once it is full it begins anew, and holds schemas as before.
func TestTheCacheOfSchemasIsBounded(t *testing.T) {
	var sick, calls atomic.Int64
	s := fake(t, &sick, &calls)
	r, err := New(Options{URL: s.URL, Username: "u", Password: "p", Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.known[7], r.bytes = "another one", maxKnown
	for range 2 {
		if text, err := r.Avro(1, nil); err != nil || text != schema {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if calls.Load() != 1 || len(r.known) != 1 || r.bytes != len(schema) {
		t.Errorf("%d calls, %d schemas of %d bytes; the one is of %d", calls.Load(), len(r.known), r.bytes, len(schema))
	}
}
