package resend

import (
	"testing"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// TestTheHeadersOfARowAreThoseOfTheRow: a letter of one row holds that row alone, so its number of rows and its sum are
// those of the row, also of the first one of its message. A letter of a whole message has them as they were.
func TestTheHeadersOfARowAreThoseOfTheRow(t *testing.T) {
	value := []byte("the bytes of one row")
	own := codec.EventHeaders(value, 1)
	for row, want := range map[int]codec.Headers{
		-1: {Rows: []byte("20"), CRC32C: []byte("01234567")}, 0: own, 1: own, 19: own} {
		l := &Letter{Record: &txn.Record{Value: value}}
		l.Report = deadletter.Report{ID: deadletter.ID{Topic: "events", Row: row}, Headers: []txn.Header{
			{Key: codec.HeaderRows, Value: []byte("20")}, {Key: "trace", Value: []byte("a")},
			{Key: codec.HeaderCRC32C, Value: []byte("01234567")}}}
		got := map[string]string{}
		for _, h := range message(l, "dead").Headers {
			got[h.Key] = string(h.Value)
		}
		if got[codec.HeaderRows] != string(want.Rows) || got[codec.HeaderCRC32C] != string(want.CRC32C) ||
			got["trace"] != "a" {
			t.Errorf("row %d: headers %v, want %s rows of sum %s", row, got, want.Rows, want.CRC32C)
		}
	}
}
