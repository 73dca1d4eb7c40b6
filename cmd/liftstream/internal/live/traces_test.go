package live

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
)

// TestTraces are off unless OpenTelemetry's environment names an endpoint, and go there. One that refuses them holds
// nothing up.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	if tracer, flush, err := Traces(t.Context(), "bank", zap.NewNop()); tracer != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tracer, err)
	} else {
		flush()
	}
	var taken, status atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, err := io.ReadAll(r.Body); err == nil && len(b) > 0 && r.URL.Path == "/v1/traces" {
			taken.Add(1)
		}
		w.WriteHeader(int(status.Load()))
	}))
	defer s.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	for _, c := range []struct {
		name     string
		status   int64
		disabled string
		want     int64
	}{{"taken", 200, "", 1}, {"refused", 400, "", 1}, {"switched off", 200, "true", 0}} {
		t.Setenv("OTEL_SDK_DISABLED", c.disabled)
		taken.Store(0)
		status.Store(c.status)
		tracer, flush, err := Traces(t.Context(), "bank", zap.NewNop())
		if err != nil || (tracer == nil) != (c.disabled != "") {
			t.Fatalf("%s: %v, %v", c.name, tracer, err)
		}
		if tracer != nil {
			_, span := tracer.Start(t.Context(), "transaction")
			span.End()
		}
		if flush(); taken.Load() != c.want {
			t.Errorf("%s: %d requests, want %d", c.name, taken.Load(), c.want)
		}
	}
}
