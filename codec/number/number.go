// Package number reads texts as numbers: plain ones, and those of named conventions, such as a decimal comma. Readers
// of files and the decoder of messages use it alike, so a text means the same number however it came.
//
// Begin at Format. Detect proposes one for a sample of texts.
package number

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// Format names the conventions by which texts are numbers. The zero value reads plain numbers only.
type Format struct {
	// Decimal parts the fraction: "." or ","; "" means ".".
	Decimal string
	// Thousands parts groups of three digits: one of Separators, other than Decimal; "" means that there are no groups.
	// A blank stands for every kind of blank (U+00A0, U+2009, U+202F), an apostrophe for U+2019 as well.
	Thousands string
	// Percent reads "12 %" as 0.12. Texts without the sign stay what they are.
	Percent bool
	// Currency lists signs that may stand before or behind the number, such as "$" or "EUR".
	Currency []string
}

// Separators are the texts that Format.Thousands may be.
var Separators = []string{",", ".", " ", "'", "_"}

// Plain reports whether the format reads plain numbers only.
func (f *Format) Plain() bool {
	return (f.Decimal == "" || f.Decimal == ".") && f.Thousands == "" && !f.Percent && len(f.Currency) == 0
}

// Check says whether the parts of the format contradict each other.
func (f *Format) Check() error {
	if f.Decimal != "" && f.Decimal != "." && f.Decimal != "," {
		return fmt.Errorf("decimal is %q; it is \".\" or \",\"", f.Decimal)
	}
	known := f.Thousands == ""
	for _, s := range Separators {
		known = known || f.Thousands == s
	}
	if !known {
		return fmt.Errorf("thousands is %q; it is one of %q", f.Thousands, Separators)
	}
	if f.Thousands != "" && f.Thousands[0] == f.decimal() {
		return fmt.Errorf("decimal and thousands are both %q", f.Thousands)
	}
	for _, c := range f.Currency {
		if c == "" || len(c) > 8 {
			return fmt.Errorf("a sign of currency is %q; it has 1 to 8 bytes", c)
		}
		for _, b := range []byte(c) {
			if b >= '0' && b <= '9' || bytes.IndexByte([]byte("+-.,%'_ \t"), b) >= 0 {
				return fmt.Errorf("a sign of currency is %q, which has a part of a number", c)
			}
		}
	}
	return nil
}

// String writes the format as the configuration has it.
func (f Format) String() string {
	var parts []string
	if f.Decimal != "" {
		parts = append(parts, fmt.Sprintf("decimal: %q", f.Decimal))
	}
	if f.Thousands != "" {
		parts = append(parts, fmt.Sprintf("thousands: %q", f.Thousands))
	}
	if f.Percent {
		parts = append(parts, "percent: true")
	}
	if len(f.Currency) > 0 {
		parts = append(parts, "currency: [\""+strings.Join(f.Currency, `", "`)+"\"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (f *Format) decimal() byte {
	if f.Decimal == "" {
		return '.'
	}
	return f.Decimal[0]
}

// Parse reads a text by the format, blanks around it cut. It allocates nothing.
func (f *Format) Parse(b []byte) (float64, bool) {
	if f.Plain() {
		return Parse(b)
	}
	var plain [64]byte
	b = trim(b)
	out := plain[:0]
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') { // -$5
		out = append(out, b[0])
		b = trim(b[1:])
	}
	b, signed := f.cutCurrency(b)
	percent := false
	if n := len(b); f.Percent && n > 0 && b[n-1] == '%' {
		percent = true
		b = trim(b[:n-1])
	}
	if !signed {
		b, _ = f.cutCurrency(b)
	}
	if len(out) == 0 && len(b) > 0 && (b[0] == '-' || b[0] == '+') { // $-5
		out = append(out, b[0])
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 48 || b[0] == '-' || b[0] == '+' {
		return 0, false
	}
	out, rest, ok := f.whole(out, b)
	if !ok {
		return 0, false
	}
	if len(rest) > 0 && rest[0] == f.decimal() {
		out = append(out, '.')
		rest = rest[1:]
	}
	for _, c := range rest {
		if c == '.' || c == ',' {
			return 0, false
		}
	}
	v, ok := Parse(append(out, rest...))
	if percent {
		v /= 100
	}
	return v, ok
}

// whole appends the digits before the decimal sign, groups joined. Where there are groups, all but the first have three
// digits, and the first begins with no zero.
func (f *Format) whole(out, b []byte) (digits, rest []byte, ok bool) {
	groups, n, from := 0, 0, len(out)
	for len(b) > 0 {
		if c := b[0]; c-'0' <= 9 {
			out = append(out, c)
			n++
			b = b[1:]
			continue
		}
		k := f.separator(b)
		if k == 0 {
			break
		}
		if n == 0 || n > 3 || groups > 0 && n != 3 || out[from] == '0' {
			return nil, nil, false
		}
		groups++
		n = 0
		b = b[k:]
	}
	return out, b, groups == 0 || n == 3
}

// separator returns how many bytes of a separator of groups b begins with.
func (f *Format) separator(b []byte) int {
	if f.Thousands == "" {
		return 0
	}
	switch c := f.Thousands[0]; {
	case b[0] == c:
		return 1
	case c == ' ':
		return blank(b)
	case c == '\'' && bytes.HasPrefix(b, []byte("\u2019")):
		return len("\u2019")
	}
	return 0
}

func (f *Format) cutCurrency(b []byte) ([]byte, bool) {
	for _, c := range f.Currency {
		if len(b) > len(c) && string(b[:len(c)]) == c {
			return trim(b[len(c):]), true
		}
		if len(b) > len(c) && string(b[len(b)-len(c):]) == c {
			return trim(b[:len(b)-len(c)]), true
		}
	}
	return b, false
}

// blank returns how many bytes of a blank b begins with.
func blank(b []byte) int {
	if b[0] == ' ' || b[0] == '\t' {
		return 1
	}
	for _, s := range [...]string{"\u00a0", "\u2009", "\u202f"} {
		if len(b) >= len(s) && string(b[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}

func trim(b []byte) []byte {
	for len(b) > 0 {
		k := blank(b)
		if k == 0 {
			break
		}
		b = b[k:]
	}
	for len(b) > 0 {
		switch n := len(b); {
		case b[n-1] == ' ' || b[n-1] == '\t':
			b = b[:n-1]
		case n >= 2 && blank(b[n-2:]) == 2:
			b = b[:n-2]
		case n >= 3 && blank(b[n-3:]) == 3:
			b = b[:n-3]
		default:
			return b
		}
	}
	return b
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Parse reads a plain decimal number, as strconv.ParseFloat does but for hexadecimal and underscores. Numbers beyond
// float64 are infinite. Up to fifteen digits the quotient of two exact numbers is the nearest double, so no library is
// asked.
func Parse(b []byte) (float64, bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i = 1
	}
	if n := len(b) - i; n > 0 && n <= 16 {
		mantissa, digits, frac := uint64(0), 0, -1
		j := i
		for ; j < len(b); j++ {
			c := b[j]
			if c-'0' <= 9 {
				mantissa = mantissa*10 + uint64(c-'0')
				digits++
			} else if c == '.' && frac < 0 {
				frac = digits
			} else {
				break
			}
		}
		if j == len(b) && digits > 0 && digits <= 15 {
			v := float64(mantissa)
			if frac >= 0 {
				v /= powers[digits-frac]
			}
			if neg {
				v = -v
			}
			return v, true
		}
	}
	for _, c := range b {
		if c == 'x' || c == 'X' || c == '_' || c == 'p' || c == 'P' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(borrow(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return v, true
}

// borrow views bytes as a string that is not kept.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
