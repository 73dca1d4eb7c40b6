package live

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"liftstream/cmd/liftstream/internal/cli"
)

// tracesGrace is the longest time that the end of a process waits for its last spans to be sent.
const tracesGrace = 2 * time.Second

// Traces returns the tracer that OpenTelemetry's environment variables ask for, nil where none names an endpoint, as
// OTEL_EXPORTER_OTLP_ENDPOINT does, and a function that sends the last spans. Spans go by OTLP over HTTP. They are
// queued within bounds: where nobody takes them they are dropped, the log tells, and the stage is not held up.
func Traces(ctx context.Context, name string, log *zap.Logger) (trace.Tracer, func(), error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, func() {}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("sending traces", zap.Error(err)) }))
	out, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, cli.Environment(fmt.Errorf("preparing traces: %w", err))
	}
	// Attributes of the environment (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) come last and so win.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "liftstream"),
		attribute.String("liftstream.stage", name)), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(out), sdk.WithResource(about))
	return p.Tracer("liftstream"), func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesGrace)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			log.Warn("sending the last traces", zap.Error(err))
		}
	}, nil
}
