package show

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"liftstream/model/report/text"
)

// visibleJSON appends a line of JSON with these characters escaped: it stands for the same values.
func visibleJSON(dst, line []byte) []byte {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case r == '\t' || !text.Hidden(r):
			dst = append(dst, line[:n]...)
		case r == '\r':
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		line = line[n:]
	}
	return dst
}

// rewrite rewrites lines of CSV: characters that act on a terminal are replaced, and where formulas is set, a text that
// a spreadsheet would take for a formula begins with an apostrophe.
func rewrite(lines []byte, formulas bool) ([]byte, error) {
	r := csv.NewReader(bytes.NewReader(lines))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the lines again: %w", err)
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for _, record := range records {
		for i, c := range record {
			record[i] = visibleCell(c, formulas)
		}
		if err := w.Write(record); err != nil {
			return nil, fmt.Errorf("writing the lines again: %w", err)
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// visibleCell makes one cell visible, as rewrite does lines.
func visibleCell(c string, formulas bool) string {
	if formulas && formula(c) {
		c = "'" + c
	}
	parts := strings.Split(c, "\n")
	for j := range parts {
		parts[j] = text.Visible(parts[j])
	}
	return strings.Join(parts, "\n")
}

// formula reports whether a spreadsheet would take a cell for a formula. Numbers are none.
func formula(cell string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " "))
	if !strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) || cell == "" {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err != nil
}
