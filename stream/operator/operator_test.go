package operator

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/stream"
)

func TestProbes(t *testing.T) {
	st := stream.Status{Live: true, Waiting: []string{"partition 3: restoring: offset 10 of 20 of events"}}
	reg := prometheus.NewRegistry()
	m := stream.NewMetrics(reg)
	m.Records.WithLabelValues("ok").Add(7)
	h := Handler(func() stream.Status { return st }, reg)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("/healthz while restoring: %d, a restoring stage is alive", code)
	}
	code, body := get("/readyz")
	if code != 503 || !strings.Contains(body, "offset 10 of 20") {
		t.Errorf("/readyz while restoring: %d %s", code, body)
	}
	st = stream.Status{Live: true, Ready: true}
	code, body = get("/readyz")
	var got stream.Status
	if code != 200 || json.Unmarshal([]byte(body), &got) != nil || !got.Ready {
		t.Errorf("/readyz when ready: %d %s", code, body)
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, `liftstream_records_total{status="ok"} 7`) {
		t.Errorf("/metrics: %d %s", code, body)
	}
	if code, _ := get("/nowhere"); code != 404 {
		t.Errorf("/nowhere: %d", code)
	}
}
