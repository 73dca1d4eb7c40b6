package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// TestProbeTellsReadyFromWaiting asks endpoints of all kinds, a wrong one among them.
func TestProbeTellsReadyFromWaiting(t *testing.T) {
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				return
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	waits := answers(503, `{"Ready": false, "Waiting": ["partition 3: restoring: offset 10 of 20"]}`)
	none := answers(503, "")
	for _, c := range []struct {
		name, address string
		live          bool
		status        int
		out, err      string
	}{
		{"ready", answers(200, `{"Live": true, "Ready": true}`), false, cli.StatusDone, "ready\n", ""},
		{"waiting", waits, false, cli.StatusEnvironment, "partition 3: restoring: offset 10 of 20\n", "not ready"},
		{"waiting and alive", waits, true, cli.StatusDone, "alive\n", ""},
		{"no stage", answers(200, "<html>"), false, cli.StatusEnvironment, "", "does not answer as a stage does"},
		{"another program", answers(200, `{"a": 1}`), false, cli.StatusEnvironment, "", "does not answer as a stage does"},
		{"an empty answer", none, false, cli.StatusEnvironment, "", "does not answer as a stage does"},
		{"another host", answers(421, ""), false, cli.StatusEnvironment, "", "421 Misdirected Request"},
		{"nobody", strings.TrimPrefix(gone.URL, "http://"), true, cli.StatusEnvironment, "", "asking the stage"},
		{"no port", "localhost", false, cli.StatusUsage, "", "HOST:PORT"},
		{"any port", "localhost:0", false, cli.StatusUsage, "", "free port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"probe", "--address", c.address}
			if c.live {
				args = append(args, "--live")
			}
			r := command(t, args...)
			if r.status != c.status || r.out != c.out || !strings.Contains(r.err, c.err) {
				t.Errorf("status %d, %q, %q; want %d, %q, %q", r.status, r.out, r.err, c.status, c.out, c.err)
			}
		})
	}
}

// TestProbeFindsTheStageOfAConfiguration: one that listens on every address is asked on this machine, and the secrets
// of its environment are not needed.
func TestProbeFindsTheStageOfAConfiguration(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"Ready": true}`))
	}))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	text, err := os.ReadFile("internal/demo/votes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "votes.yaml")
	text = append(text, "kafka: {brokers: [\"localhost:1\"]}\nhttp: {listen: \"0.0.0.0:"+port+
		"\", token: \"${LIFTSTREAM_TEST_NONE}\"}\n"...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := command(t, "probe", "-c", file); r.status != cli.StatusDone || r.out != "ready\n" {
		t.Errorf("status %d, %q, %q", r.status, r.out, r.err)
	}
	if r := command(t, "probe"); r.status != cli.StatusUsage || !strings.Contains(r.err, "-c FILE") {
		t.Errorf("without anything: status %d, %q", r.status, r.err)
	}
}
