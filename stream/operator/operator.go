// Package operator answers the questions of machines about a running stage: whether it lives, whether it is ready, and
// its metrics.
//
// Begin at Handler.
package operator

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"liftstream/stream"
)

// Handler returns a mux with
//
//   - /healthz: 200 as long as the process serves at all; a restoring or waiting stage is alive.
//   - /readyz: 200 when every owned partition runs, else 503; the body is the stage's Status as JSON, and its "Waiting"
//     names the things for which it waits, and how far they are.
//   - /metrics: the gatherer's metrics in the Prometheus text format.
//
// The caller may add pages to it.
func Handler(status func() stream.Status, g prometheus.Gatherer) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		st := status()
		w.Header().Set("Content-Type", "application/json")
		if !st.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(st)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{}))
	return mux
}
