package deadletter_test

import (
	"bytes"
	"strconv"
	"testing"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// TestALetterFitsItsTopic: with any limit it is whole where that is enough, and else within it, with as much as fits:
// the value goes first, then the key and the headers of the message; a header tells the missing bytes.
func TestALetterFitsItsTopic(t *testing.T) {
	r := txn.Record{Key: bytes.Repeat([]byte("k"), 300), Value: bytes.Repeat([]byte("v"), 1000), Headers: []txn.Header{
		{Key: "trace", Value: bytes.Repeat([]byte("t"), 300)}, {Key: codec.DeadReason, Value: []byte("damaged")},
		{Key: codec.DeadError, Value: bytes.Repeat([]byte("e"), 400)}, {Key: codec.DeadOffset, Value: []byte("7")},
	}}
	size := txn.RecordBytes(&r)
	headers := func(r txn.Record) map[string]string {
		out := map[string]string{}
		for _, h := range r.Headers {
			out[h.Key] = string(h.Value)
		}
		return out
	}
	before := headers(r)
	seen := map[string]bool{}
	for limit := size + 2; limit >= 250; limit-- {
		got := deadletter.Fit(r, 1, limit)
		h := headers(got)
		if limit >= size {
			if len(got.Value) != 1000 || len(got.Headers) != 4 {
				t.Fatalf("limit %d of %d: it is cut", limit, size)
			}
			continue
		}
		n := txn.RecordBytes(&got)
		if n > limit || len(got.Value) > 0 || got.Value == nil {
			t.Fatalf("limit %d: %d bytes, %d of the value", limit, n, len(got.Value))
		}
		if h[codec.DeadReason] != "damaged" || h[codec.DeadOffset] != "7" {
			t.Fatalf("limit %d: headers %v", limit, h)
		}
		without := got
		without.Headers = got.Headers[:len(got.Headers)-1]
		if missing := strconv.Itoa(size - txn.RecordBytes(&without)); h[codec.DeadOmitted] != missing {
			t.Fatalf("limit %d: %s bytes are said to be missing, %s are", limit, h[codec.DeadOmitted], missing)
		}
		switch {
		case got.Key != nil && h["trace"] != "":
			seen["the value is left out"] = true
		case got.Key != nil || h["trace"] != "":
			t.Fatalf("limit %d: the key or the headers alone are left out", limit)
		case len(h[codec.DeadError]) == 400:
			seen["and the message's key and headers"] = true
		default:
			seen["and some of the error"] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v", seen)
	}
	if now := headers(r); now[codec.DeadError] != before[codec.DeadError] || len(r.Headers) != 4 || len(r.Key) != 300 {
		t.Error("the letter itself has changed")
	}
}
