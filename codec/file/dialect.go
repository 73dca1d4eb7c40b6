package file

import "bytes"

// delimiters that a CSV file may have without saying so, the likeliest first.
var delimiters = []byte{',', ';', '\t', '|'}

const (
	sampleBytes = 1 << 16
	sampleRows  = 200
)

// dialect finds the delimiter of a CSV file by its beginning: that by which all records have the width of the header,
// and of several that of the widest header. skip is the length of a line "sep=;", which says it. whole is true where
// the sample is the whole file.
func dialect(sample []byte, whole bool) (delimiter byte, skip int) {
	if d, n := stated(sample); n > 0 {
		return d, n
	}
	best, most, fits := delimiters[0], 0, false
	for _, d := range delimiters {
		header, even := widths(sample, d, whole)
		if header < 2 || fits && !even {
			continue
		}
		if even && !fits || header > most {
			best, most, fits = d, header, even
		}
	}
	return best, 0
}

// stated reads a first line such as sep=; that spreadsheets write and understand.
func stated(sample []byte) (delimiter byte, n int) {
	end := bytes.IndexAny(sample, "\r\n")
	if end < 0 {
		return 0, 0
	}
	line := bytes.Trim(sample[:end], `"`)
	if len(line) != 5 || !bytes.EqualFold(line[:4], []byte("sep=")) {
		return 0, 0
	}
	if bytes.HasPrefix(sample[end:], []byte("\r\n")) {
		end++
	}
	return line[4], end + 1
}

// widths returns how many values the header has by a delimiter, and whether each record of the sample has as many; more
// may be there where they are empty.
func widths(sample []byte, d byte, whole bool) (header int, even bool) {
	named, first, rows := 0, 0, 0
	even = true
	for len(sample) > 0 && rows < sampleRows {
		n, filled, size, closed := width(sample, d)
		if size == len(sample) && !whole {
			break // it may go on
		}
		sample = sample[size:]
		if n == 1 && filled == 0 {
			continue
		}
		switch rows++; {
		case !closed:
			even = false
		case rows == 1:
			header, named = n, filled
		case rows == 2:
			first = n
			even = even && n >= named && n <= header+1 && filled <= named
		default:
			even = even && n == first && filled <= named
		}
	}
	return header, even
}

// width counts the values of the first record of b, those up to the last that is not empty, and its bytes. closed is
// false where a quote is not.
func width(b []byte, d byte) (n, filled, size int, closed bool) {
	i, n := 0, 0
	for {
		n++
		for i < len(b) && b[i] == ' ' {
			i++
		}
		from := i
		if i < len(b) && b[i] == '"' {
			for i++; ; i++ {
				if i >= len(b) {
					return n, n, len(b), false
				}
				if b[i] != '"' {
					continue
				}
				if i+1 < len(b) && b[i+1] == '"' {
					i++
					continue
				}
				break
			}
			i++
			filled = n
		}
		for i < len(b) && b[i] != d && b[i] != '\n' && b[i] != '\r' {
			i++
		}
		if len(trim(b[from:i])) > 0 {
			filled = n
		}
		if i >= len(b) {
			return n, filled, len(b), true
		}
		i++
		if b[i-1] == d {
			continue
		}
		if b[i-1] == '\r' && i < len(b) && b[i] == '\n' {
			i++
		}
		return n, filled, i, true
	}
}
