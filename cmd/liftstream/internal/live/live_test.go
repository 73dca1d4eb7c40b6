package live

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/stream/committed"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// small is a stage of two features, without the components that take long to fit.
func small(t *testing.T, extra string) *assemble.Stage {
	t.Helper()
	text := "name: bank\nrecord:\n  id: who\n  label: {column: y, classes: [no, yes], positive: yes}\n  features:\n" +
		"    - {name: age, kind: continuous}\n    - {name: job, kind: nominal}\nlocal: off\nkernel: off\n" + extra
	c, _, err := config.Parse("bank.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestEachOptionIsThatOfItsKey: no two values of the configuration are alike, and no option of a stage is left out.
func TestEachOptionIsThatOfItsKey(t *testing.T) {
	st := small(t, `
commit: {interval: 110ms}
snapshot: {interval: 61s, bytes_per_second: 7MiB, share: 0.13}
memory: {in_flight: 65MiB, tail: 31MiB, fit: 513MiB, message: 15MiB, batch: 33MiB, decoded: 257MiB}
fit: {every: 62s, records: 5003, early: true, budget: 21s}
shutdown: {grace: 23s}
policy: {dead_share: 0.17, held: 16m, input_lost: rebuild, topic_shared: accept}
labels: {}
learning: off
input: {format: avro}
registry: {url: "http://127.0.0.1:1"}
output: {format: json, cloudevents: on}
dead: {headers: connect}
topics: {events: t1, scores: t2, labels: t3, state: t4, model: t5, dead: t6, partitions: 5, replication: 2}
`)
	initial := &model.Model{Version: 9}
	o := Options{Log: zap.NewNop(), Initial: initial, Skip: 3, Format: 1}
	client := txn.NewClient(txn.Config{Brokers: []string{"127.0.0.1:1"}})
	defer client.Close()
	k := &cluster.Cluster{Client: client, Address: "127.0.0.1:1", Instance: "pod-3"}
	l := New(st.Config, st, k, o)
	got := (&Live{config: st.Config, metrics: prometheus.NewRegistry(), Board: l.Board}).options(st, k, o)
	left := map[string]bool{"Patience": true, "Session": true, "Tracer": true} // their defaults are those of the stage
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && v.Field(i).IsZero() && !left[f.Name] {
			t.Errorf("%s is left out", f.Name)
		}
	}
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"name", got.Name, "bank"}, {"specification", got.Spec, st.Spec}, {"client", got.Client, client},
		{"topics", got.Topics, topics.Names{Events: "t1", Scores: "t2", Labels: "t3", State: "t4", Model: "t5", Dead: "t6"}},
		{"commit.interval", got.Commit, 110 * time.Millisecond}, {"snapshot.interval", got.Snapshot, 61 * time.Second},
		{"snapshot.bytes_per_second", got.SnapshotRate, int64(7 << 20)}, {"snapshot.share", got.SnapshotShare, .13},
		{"memory.in_flight", got.InFlight, int64(65 << 20)}, {"shutdown.grace", got.Grace, 23 * time.Second},
		{"fit.every", got.FitEvery, 62 * time.Second}, {"fit.records", got.FitRecords, 5003},
		{"fit.budget", got.FitBudget, 21 * time.Second}, {"policy.dead_share", got.DeadShare, .17},
		{"policy.held", got.Held, 16 * time.Minute}, {"format", got.Format, 1}, {"learning", got.LearningOff, true},
		{"topics.replication", got.Replication, 2},
		{"instance", got.Instance, "pod-3"}, {"initial", got.Initial, initial}, {"log", got.Log, o.Log},
		{"input_lost", got.InputLost, committed.Rebuild}, {"topic_shared", got.TopicShared, true},
		{"schema_changed", got.SchemaChanged, committed.Rebuild},
		{"topic_recreated", got.TopicRecreated, committed.Fail},
		{"columns", fmt.Sprint(got.Codec.ID, got.Codec.Label), "whoy"},
	} {
		if x.got != x.want {
			t.Errorf("%s is %v, want %v", x.name, x.got, x.want)
		}
	}
	if d := time.Since(got.Now()); d < 0 || d > time.Minute {
		t.Errorf("the clock is %v behind", d)
	}
	// The page counts the scores of the stage, without the first ones.
	b, levels := &model.Batch{N: 5, Label: []int32{0, 1, 0, 1, 0}}, model.NewLevels(st.Spec.Schema)
	scores := &model.Scores{}
	scores.Reset(5, 2)
	for i := range 5 {
		scores.P[2*i], scores.P[2*i+1] = .5, .5
	}
	got.OnScores(0, b, scores, levels)
	if v := l.Source.Board.View(); v.Scored != 5 || v.Quality.Records != 2 {
		t.Errorf("the page has %d scored and %d counted, want 5 and 2", v.Scored, v.Quality.Records)
	}
	want := []page.Place{{What: "brokers", Name: "127.0.0.1:1"}, {What: "events", Name: "t1"},
		{What: "scores", Name: "t2"}, {What: "rejected", Name: "t6"}}
	if l.Source.Name != "bank" || l.Source.Positive != "yes" || !slices.Equal(l.Source.Places, want) {
		t.Errorf("the page is of %s, %s at %v", l.Source.Name, l.Source.Positive, l.Source.Places)
	}
}

// TestStrongestProfiles: the confirmed ones first, each kind in its order, of the positive class where there is one.
func TestStrongestProfiles(t *testing.T) {
	var all []report.Profile
	for i := range 20 {
		n := evaluate.Number(i)
		all = append(all, report.Profile{Class: []string{"no", "yes"}[i%2], Text: fmt.Sprint("p", i), Confirmed: i%5 == 4,
			Lift: 1 + n, LiftLow: .1, LiftHigh: .2, LiftAll: .3, ValidatedLift: evaluate.Number(100 + n),
			ValidatedLow: evaluate.Number(200 + n), ValidatedHigh: evaluate.Number(300 + n), N: 400 + n, NX: 500 + n,
			NXY: 600 + n, NY: 700 + n, QValue: .4})
	}
	for _, c := range []struct {
		positive int
		want     string
	}{{1, "p9 p19 p1 p3 p5 p7 p11 p13"}, {0, "p4 p14 p0 p2 p6 p8 p10 p12"}, {-1, "p4 p9 p14 p19 p0 p1 p2 p3"}} {
		got := strongest(&model.Schema{Classes: []string{"no", "yes"}, Positive: c.positive}, all)
		var names []string
		for _, p := range got {
			names = append(names, p.Text)
			var i int
			if _, err := fmt.Sscanf(p.Text, "p%d", &i); err != nil {
				t.Fatal(err)
			}
			n := evaluate.Number(i)
			if want := (page.Profile{Class: all[i].Class, Text: all[i].Text, Confirmed: all[i].Confirmed, Lift: 1 + n,
				Validated: 100 + n, ValidatedLow: 200 + n, ValidatedHigh: 300 + n, Records: 500 + float64(i),
				Positives: 600 + float64(i)}); p != want {
				t.Errorf("%s is %+v, want %+v", p.Text, p, want)
			}
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("positive %d: %q, want %q", c.positive, names, c.want)
		}
	}
	if got := strongest(&model.Schema{Positive: -1}, all[:3]); len(got) != 3 {
		t.Errorf("of three %d are shown", len(got))
	}
}

// TestProfilesFollowTheServingModel: each version is read once; one that cannot be read leaves those of before.
func TestProfilesFollowTheServingModel(t *testing.T) {
	st := small(t, "")
	var serving *model.Model
	get := profiles(st, func() *model.Model { return serving })
	broken := map[string][]byte{"lift": []byte("no part")}
	for i, c := range []struct {
		m    *model.Model
		want int64
	}{{nil, 0}, {&model.Model{Version: 1}, 1}, {nil, 1}, {&model.Model{Version: 1, Parts: broken}, 1},
		{&model.Model{Version: 2, Parts: broken}, 1}, {&model.Model{Version: 3}, 3}, {&model.Model{Version: 4}, 4}} {
		if serving = c.m; get().Model != c.want {
			t.Errorf("look %d: the profiles are those of model %d, want %d", i, get().Model, c.want)
		}
	}
}

// TestRequestsNeedTheToken: as a bearer, or as a password, whole; probes need none.
func TestRequestsNeedTheToken(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	basic := func(user, password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	for _, c := range []struct {
		token, path, header string
		passes              bool
	}{
		{"", "/", "", true}, {"", "/metrics", "Bearer x", true}, {"s", "/", "", false}, {"s", "/", "Bearer s", true},
		{"s", "/metrics", "Bearer s", true}, {"s", "/api/live", "Bearer t", false}, {"s", "/", "Bearer ", false},
		{"s", "/", "Bearer ss", false}, {"ss", "/", "Bearer s", false}, {"s", "/", "bearer s", false}, {"s", "/", "s", false},
		{"s", "/", basic("any", "s"), true}, {"s", "/", basic("", "s"), true}, {"s", "/", basic("s", ""), false},
		{"s", "/", basic("s", "t"), false}, {"s", "/healthz", "", true}, {"s", "/readyz", "", true},
		{"s", "/readyz/", "", false}, {"s", "/livez", "", false}, {"s", "/readyz", "Bearer t", true},
		{"s", "/v2/health/ready", "", true}, {"s", "/v2/models/bank/infer", "", false}, {"s", "/v1/score", "", false},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		guard(c.token, inside).ServeHTTP(w, r)
		want := map[bool]int{true: http.StatusTeapot, false: http.StatusUnauthorized}[c.passes]
		if w.Code != want || (len(w.Header().Values("WWW-Authenticate")) == 2) == c.passes {
			t.Errorf("%+v: status %d, want %d; %v", c, w.Code, want, w.Header())
		}
	}
}

// TestAnotherPortIsOneOfTheSameAddress, and only where another one will do.
func TestAnotherPortIsOneOfTheSameAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	if _, err := serve(at, false, http.NotFoundHandler(), zap.NewNop()); cli.Status(err) != cli.StatusEnvironment ||
		!strings.Contains(err.Error(), "http.listen") {
		t.Errorf("a taken port: %v", err)
	}
	s, err := serve(at, true, http.NotFoundHandler(), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(s.Addr())
	if err != nil || host != "127.0.0.1" || s.Addr() == at {
		t.Errorf("it listens at %s, not at %s; %v", s.Addr(), at, err)
	}
	r, err := http.Get("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if x := s.http; x.ReadHeaderTimeout <= 0 || x.ReadTimeout <= 0 || x.WriteTimeout <= 0 || x.IdleTimeout <= 0 ||
		x.MaxHeaderBytes <= 0 || x.MaxHeaderBytes > 1<<20 {
		t.Errorf("a slow reader may keep its connection: %+v", x)
	}
	s.Close()
	if again, err := net.Listen("tcp", s.Addr()); err != nil {
		t.Errorf("the port is still taken: %v", err)
	} else {
		again.Close()
	}
}

// TestAnOpenPageDoesNotHoldTheStopUp: its stream ends as answers end, and is not cut.
func TestAnOpenPageDoesNotHoldTheStopUp(t *testing.T) {
	st := small(t, `http: {listen: "127.0.0.1:0"}`)
	client := txn.NewClient(txn.Config{Brokers: []string{"127.0.0.1:1"}})
	defer client.Close()
	l := New(st.Config, st, &cluster.Cluster{Client: client, Address: "127.0.0.1:1"}, Options{Log: zap.NewNop()})
	s, err := l.Serve(false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get("http://" + s.Addr() + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	s.Close()
	if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), "event: part\n") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
