package live

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/stream/txn"
)

// TestRequestsForScoresReachTheStage, which has not begun yet, unless they are switched off, and with the token alone.
func TestRequestsForScoresReachTheStage(t *testing.T) {
	const record = `{"who": "a", "age": 3, "job": "x"}`
	for _, c := range []struct{ http, token, path, body, want string }{
		{"{listen: '127.0.0.1:0'}", "", "/v1/score", record, "503 the stage has not joined its group yet"},
		{"{listen: '127.0.0.1:0', token: secret}", "", "/v1/score", record, "401 the token"},
		{"{listen: '127.0.0.1:0', token: secret}", "secret", "/v1/score", record, "503 the stage has not joined"},
		{"{listen: '127.0.0.1:0', score: off}", "", "/v1/score", record, "404"},
		{"{listen: '127.0.0.1:0'}", "", "/v2/models/bank/infer", `{}`, "400 there are no inputs"},
		{"{listen: '127.0.0.1:0', token: secret}", "", "/v2/health/live", "", `200 {"live":true}`},
		{"{listen: '127.0.0.1:0', token: secret}", "secret", "/v2", "", `200 {"extensions":[],"name":"liftstream"`},
		{"{listen: '127.0.0.1:0'}", "", "/metrics", "", "200 liftstream_requested_scores_total 0"},
	} {
		st := small(t, "http: "+c.http+"\n")
		client := txn.NewClient(txn.Config{Brokers: []string{"127.0.0.1:1"}})
		l := New(st.Config, st, &cluster.Cluster{Client: client, Address: "127.0.0.1:1"}, Options{Log: zap.NewNop(),
			Version: "3"})
		s, err := l.Serve(false)
		if err != nil {
			t.Fatal(err)
		}
		method := http.MethodPost
		if c.body == "" {
			method = http.MethodGet
		}
		r, err := http.NewRequest(method, "http://"+s.Addr()+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		code, words, _ := strings.Cut(c.want, " ")
		if err != nil || !strings.HasPrefix(answer.Status, code) || !strings.Contains(string(b), words) {
			t.Errorf("%s %s: %s %s; want %s", c.http, c.path, answer.Status, b, c.want)
		}
		_ = answer.Body.Close()
		s.Close()
		client.Close()
	}
}
