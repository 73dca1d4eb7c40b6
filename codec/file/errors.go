package file

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"liftstream/codec"
)

// Error is a fault of a file, with its place and its remedy.
type Error struct {
	File   string
	Row    int64  // record, counted from 1 without the header; 0 when no record is at fault
	Line   int64  // line of a text file, from 1; 0 when unknown
	Column string // "" when none is at fault
	Value  string // the offending text, cut
	Err    error
	Remedy string // an instruction; "" when the error has it
}

// Error writes file: row (line): column: value: fault; remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Row > 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
		if e.Line > 0 {
			fmt.Fprintf(&b, " (line %d)", e.Line)
		}
	} else if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %q", e.Column)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, " holds %q", e.Value)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Unwrap hides io.EOF: a fault is never the end of the records, even where a library met the end of its bytes.
func (e *Error) Unwrap() error {
	if errors.Is(e.Err, io.EOF) {
		return nil
	}
	return e.Err
}

var remedies = map[codec.Reason]string{
	codec.ReasonSchema: "change the kind in the configuration, or the type in the file",
}

var rowErrors = map[codec.Reason]error{
	codec.ReasonID:      errors.New("the id is missing"),
	codec.ReasonTime:    errors.New("not a time"),
	codec.ReasonFuture:  errors.New("a time in the future"),
	codec.ReasonNumber:  errNumber,
	codec.ReasonPast:    errors.New("a time too long ago"),
	codec.ReasonNull:    errors.New("the value is missing"),
	codec.ReasonTreated: errors.New("not a treatment: one of true, false, 1 and 0"),
	codec.ReasonWeight:  errors.New("not a weight: a finite number of at least 0"),
}

var rowRemedies = map[codec.Reason]string{
	codec.ReasonID: "every record needs one; without record.id in the configuration none does",
	codec.ReasonTime: "a time is RFC 3339 such as 2024-05-01T12:00:00Z, a date, or a number since 1970 whose unit is " +
		"stated, as in record: {time: {column: at, unit: s}}, for a column of derive as in hour(opened, unit=s); without " +
		"a unit it is whole milliseconds",
	codec.ReasonNull:   "complete it, or leave out nullable: never of the feature in the configuration",
	codec.ReasonNumber: "correct it, add the text to missing, or say how numbers are written under format",
}

// rowError says what is wrong with a row.
func rowError(e codec.RowError) *Error {
	if e.Reason == codec.ReasonID && e.Value != "" {
		return &Error{Column: e.Column, Value: e.Value, Err: errors.New("not an id"), Remedy: "an id is text in UTF-8 of " +
			"at most 8 KiB, or a number; a float from 2^53 on stands for several whole numbers: write whole numbers or text"}
	}
	return &Error{Column: e.Column, Value: e.Value, Err: rowErrors[e.Reason], Remedy: rowRemedies[e.Reason]}
}

func cut(b []byte) string { return string(b[:min(len(b), 100)]) }
