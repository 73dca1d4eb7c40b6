package stream

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// spanTree is the names of the recorded spans by the name of the span that they lie in, and the attributes of all.
func spanTree(spans []sdk.ReadOnlySpan) (tree map[string]int, sum map[string]int64, links []string) {
	name := map[string]string{}
	for _, s := range spans {
		name[s.SpanContext().SpanID().String()] = s.Name()
	}
	tree, sum = map[string]int{}, map[string]int64{}
	for _, s := range spans {
		tree[name[s.Parent().SpanID().String()]+"/"+s.Name()]++
		for _, l := range s.Links() {
			links = append(links, s.Name()+" "+l.SpanContext.TraceID().String())
		}
		for _, a := range s.Attributes() {
			if a.Value.Type() == attribute.INT64 {
				sum[s.Name()+" "+string(a.Key)] += a.Value.AsInt64()
			}
		}
	}
	return tree, sum, links
}

// TestSpansOfTransactions: each has one with the spans of its messages in it, at most spanned of them, and links to the
// spans that sent them. A message that is no event has no score, and one with a broken header no link.
func TestSpansOfTransactions(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	w := alone(t, 1)
	o := w.options(w.Client)
	o.Commit = 300 * time.Millisecond
	recorder := tracetest.NewSpanRecorder()
	o.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test")
	var records []txn.Record
	for i := range 3 {
		records = append(records, w.event(10*i, 10))
	}
	records[0].Headers = []txn.Header{{Key: "traceparent", Value: []byte("00-" + id + "-b7ad6b7169203331-01")}}
	records[1].Headers = []txn.Header{{Key: "traceparent", Value: []byte("00-zz-1-01")}}
	records = append(records, txn.Record{Topic: w.Topics.Events, Value: []byte("no Arrow"), Time: time.Now()})
	for i := range records {
		w.write(records[i])
	}
	r := w.run(o)
	w.caught(r)
	streamtest.Eventually(t, time.Minute, "there are no spans of all messages", func() bool {
		_, sum, _ := spanTree(recorder.Ended())
		return sum["transaction messaging.batch.message_count"] == 4
	})
	tree, sum, links := spanTree(recorder.Ended())
	if tree["consume/decode"] != 4 || tree["consume/score"] != 3 || tree["transaction/consume"] != 4 ||
		tree["transaction/commit"] != tree["/transaction"] || tree["/transaction"] == 0 {
		t.Errorf("the spans are %v", tree)
	}
	if sum["transaction liftstream.rows"] != 30 || sum["consume liftstream.rows"] != 30 {
		t.Errorf("the sums of the attributes are %v", sum)
	}
	if want := fmt.Sprint([]string{"transaction " + id}); fmt.Sprint(links) != want {
		t.Errorf("links %v, want %v", links, want)
	}
	for _, s := range recorder.Ended() {
		if s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s ends before it begins", s.Name())
		}
	}
	r.end(t)

	var s spans
	for i := range 3 * spanned {
		s.begin(&o, &txn.Record{Offset: int64(i)})
		s.decoded(&o)
		s.scored(&o, 2)
	}
	if len(s.messages) != spanned || s.all != 3*spanned || s.rows != 6*spanned || s.messages[spanned-1].rows != 2 {
		t.Errorf("%d of %d messages, %d rows", len(s.messages), s.all, s.rows)
	}
}
