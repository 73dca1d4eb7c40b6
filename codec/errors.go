package codec

import (
	"errors"
	"fmt"
	"slices"
)

// Reason says in one word why a message or a row was refused. The set is closed: dead letters and metrics use it.
type Reason string

// Reasons to refuse a whole message.
const (
	ReasonEmpty     Reason = "empty"          // no bytes
	ReasonNotArrow  Reason = "not_arrow"      // does not begin as an Arrow IPC stream
	ReasonNotJSON   Reason = "not_json"       // does not begin as a JSON object
	ReasonNotAvro   Reason = "not_avro"       // does not begin with the id of a schema of a registry
	ReasonTruncated Reason = "truncated"      // ends before its end mark
	ReasonTrailing  Reason = "trailing_bytes" // goes on after its end mark
	ReasonDamaged   Reason = "damaged"        // sizes or offsets inside it contradict each other
	ReasonCRC       Reason = "crc_mismatch"   // the crc32c header is not that of the value
	ReasonRows      Reason = "rows_mismatch"  // the rows header is not the number of rows
	// a column is missing, twice there, or of a type that does not fit; it is named
	ReasonSchema        Reason = "schema"
	ReasonUnknownSchema Reason = "unknown_schema" // the registry has no schema of the id
	ReasonTooLarge      Reason = "too_large"      // the message, or its decoded form, exceeds its bound
	ReasonSkipped       Reason = "skipped"        // an operator has it passed by ('dead skip')
	ReasonPanic         Reason = "panic"          // the decoder failed in a way that only this message explains
)

// Reasons to refuse a row.
const (
	// the id is null, empty, longer than 8 KiB, not UTF-8, or a float that stands for several whole numbers
	ReasonID     Reason = "id"
	ReasonTime   Reason = "time"   // the time cannot be read
	ReasonFuture Reason = "future" // the time lies further ahead than allowed; also of a message
	ReasonPast   Reason = "past"   // the time lies further back than allowed; also of a message
	ReasonWeight Reason = "weight" // the weight is null, negative or not finite
	// the treatment is none of true, false, 1 and 0
	ReasonTreated Reason = "treated"
	ReasonNumber  Reason = "number" // a text is no number by the format
	ReasonNull    Reason = "null"   // a feature has no value, and Options.Nullable says that it must
	ReasonLabel   Reason = "label"  // a label is null or none of the classes (labels only; events accept both)
	ReasonRecord  Reason = "record" // a label's source position is null or negative
)

// MessageError is returned when a whole message cannot be read.
type MessageError struct {
	Reason Reason
	Column string // the column at fault; "" when none is
	Err    error
}

func (e *MessageError) Error() string {
	if e.Column != "" {
		return fmt.Sprintf("decoding message: %s: column %q: %v", e.Reason, e.Column, e.Err)
	}
	return fmt.Sprintf("decoding message: %s: %v", e.Reason, e.Err)
}

func (e *MessageError) Unwrap() error { return e.Err }

func dead(r Reason, format string, args ...any) *MessageError {
	return &MessageError{Reason: r, Err: fmt.Errorf(format, args...)}
}

// RowError says why a row is absent from its batch.
type RowError struct {
	Row    int32 // counted over all batches of the message
	Reason Reason
	Column string // "" when none is at fault
	Value  string // as text, cut to 100 bytes; "" when null; without a column, the fault in words
}

func (e RowError) Error() string {
	switch {
	case e.Column == "":
		return fmt.Sprintf("row %d: %s: %s", e.Row, e.Reason, e.Value)
	case e.Value == "":
		return fmt.Sprintf("row %d: %s: column %q", e.Row, e.Reason, e.Column)
	}
	return fmt.Sprintf("row %d: %s: column %q holds %q", e.Row, e.Reason, e.Column, e.Value)
}

// Untimely reports whether a message, or one of its rows, was refused for its time.
func Untimely(bad []RowError, err error) bool {
	var m *MessageError
	if errors.As(err, &m) {
		return m.Reason.Untimely()
	}
	return slices.ContainsFunc(bad, func(e RowError) bool { return e.Reason.Untimely() })
}

// Untimely reports whether it is a reason of times that are out of bounds.
func (r Reason) Untimely() bool { return r == ReasonFuture || r == ReasonPast }
