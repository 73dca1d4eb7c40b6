package live

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/registry"
	"liftstream/config"
)

// lacks says on /readyz that messages wait for the schema registry; nil where there is none.
func lacks(r *registry.Registry) func() string {
	if r == nil {
		return nil
	}
	return func() string {
		problem, _ := r.State()
		return problem
	}
}

// before registers the schema of the scores; nil where they have none.
func before(st *assemble.Stage) func(ctx context.Context) error {
	if st.Codec.Frame == nil {
		return nil
	}
	return st.Announce
}

// registerRegistry adds the metrics of the schema registry, where there is one.
func registerRegistry(m *prometheus.Registry, r *registry.Registry) {
	if r == nil {
		return
	}
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "liftstream", Name: "registry_waiting",
		Help: "1 while messages wait for the schema registry, which does not answer."}, func() float64 {
		if problem, _ := r.State(); problem != "" {
			return 1
		}
		return 0
	}), prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "liftstream", Name: "registry_failures_total",
		Help: "Calls that the schema registry did not answer."}, func() float64 {
		_, failures := r.State()
		return float64(failures)
	}))
}

// contentTypes are the media types of the formats of scores.
var contentTypes = map[config.Format]string{config.FormatArrow: "application/vnd.apache.arrow.stream",
	config.FormatJSONL: "application/x-ndjson", config.FormatJSON: "application/json",
	config.FormatAvro: "application/avro"}

// contentType is that of the scores, "" where they are no CloudEvents.
func contentType(o *config.Output) string {
	if o.CloudEvents != config.SwitchedOn {
		return ""
	}
	return contentTypes[o.Format]
}
