package stream

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"liftstream/stream/txn"
)

// spanned bounds the messages of a transaction that have spans of their own, so a backlog makes no more of them. The
// span of the transaction counts all.
const spanned = 64

// spans are the times of a transaction, from which its spans are made once it has ended. Without Options.Tracer they
// take no time.
type spans struct {
	messages []messageSpan
	all      int // messages
	rows     int
}

// messageSpan is one message of events: consumed, that is decoded and scored.
type messageSpan struct {
	offset                int64
	rows                  int
	began, decoded, ended time.Time
	sender                trace.SpanContext // of the header traceparent; invalid = it has none
}

// begin begins with a message of events.
func (s *spans) begin(o *Options, r *txn.Record) {
	if o.Tracer == nil {
		return
	}
	if s.all++; len(s.messages) < spanned {
		now := o.Now()
		s.messages = append(s.messages, messageSpan{offset: r.Offset, began: now, decoded: now, sender: senderOf(r)})
	}
}

// last is the span of the message that is worked on, nil where there is none.
func (s *spans) last() *messageSpan {
	if s.all == 0 || s.all > len(s.messages) {
		return nil
	}
	return &s.messages[len(s.messages)-1]
}

// decoded says that the message is read.
func (s *spans) decoded(o *Options) {
	if m := s.last(); m != nil {
		m.decoded = o.Now()
	}
}

// scored says that the message is done, and how many scores it has.
func (s *spans) scored(o *Options, rows int) {
	s.rows += rows
	if m := s.last(); m != nil {
		m.rows, m.ended = rows, o.Now()
	}
}

// end makes the spans of a transaction whose commit began at a time and has ended. There is no span of a transaction
// without events, as of labels alone.
func (s *spans) end(t *task, x *transaction, commit time.Time, err error) {
	o := &t.s.o
	if o.Tracer == nil || len(s.messages) == 0 {
		return
	}
	var links []trace.Link
	for i := range s.messages {
		if c := s.messages[i].sender; c.IsValid() {
			links = append(links, trace.Link{SpanContext: c})
		}
	}
	partition := attribute.String("messaging.destination.partition.id", t.board.id)
	ctx, root := o.Tracer.Start(context.Background(), "transaction", trace.WithNewRoot(), trace.WithLinks(links...),
		trace.WithTimestamp(s.messages[0].began), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("messaging.system", "kafka"),
			attribute.String("messaging.destination.name", o.Topics.Events), partition,
			attribute.String("messaging.consumer.group.name", o.Name),
			attribute.Int("messaging.batch.message_count", s.all),
			attribute.Int64("liftstream.offset.first", s.messages[0].offset),
			attribute.Int64("liftstream.offset.next", x.to.Events),
			attribute.Int64("liftstream.model", x.to.Model),
			attribute.Int("liftstream.rows", s.rows),
		))
	child := func(ctx context.Context, name string, from, to time.Time, with ...attribute.KeyValue) context.Context {
		ctx, span := o.Tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(append(with, partition)...))
		span.End(trace.WithTimestamp(to))
		return ctx
	}
	for i := range s.messages {
		m := &s.messages[i]
		if m.ended.IsZero() {
			m.ended = m.decoded // it became a dead letter
		}
		offset := attribute.Int64("messaging.kafka.offset", m.offset)
		in := child(ctx, "consume", m.began, m.ended, offset, attribute.Int("liftstream.rows", m.rows))
		child(in, "decode", m.began, m.decoded, offset)
		if m.rows > 0 {
			child(in, "score", m.decoded, m.ended, offset)
		}
	}
	child(ctx, "commit", commit, x.ended, attribute.Int("liftstream.records", len(x.records)))
	if err != nil {
		root.SetStatus(codes.Error, err.Error())
	}
	root.End(trace.WithTimestamp(x.ended))
}

// senderOf is the span that has sent a message, by its headers traceparent and tracestate (W3C Trace Context).
func senderOf(r *txn.Record) trace.SpanContext {
	carrier := propagation.MapCarrier{}
	for _, h := range r.Headers {
		if h.Key == "traceparent" || h.Key == "tracestate" {
			carrier[h.Key] = string(h.Value)
		}
	}
	if len(carrier) == 0 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
