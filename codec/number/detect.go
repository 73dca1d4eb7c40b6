package number

import "strings"

// signs of currency that Detect looks for.
var signs = []string{"$", "€", "£", "¥", "₹", "₽", "₩", "zł", "Kč", "kr", "US$", "EUR", "USD",
	"GBP", "CHF", "JPY", "SEK",
	"NOK", "DKK", "PLN", "CZK", "CNY", "INR", "AUD", "CAD"}

// Detected is the answer of Detect.
type Detected struct {
	Format Format
	// Read is how many of the texts the format reads.
	Read int
	// Ambiguous is true where the texts mean other numbers by another format that reads as many: 1,234 with a decimal
	// comma and with groups.
	Ambiguous bool
}

// Detect proposes the format that reads the most of a sample of texts of one column, the plainest where several do.
// Texts that mean missing are left out by the caller. The zero Format comes where plain numbers are the best or
// nothing reads.
func Detect(texts []string) Detected {
	f := Format{}
	for _, s := range signs {
		for _, t := range texts {
			t = string(trim([]byte(t)))
			rest, found := strings.CutPrefix(strings.TrimLeft(t, "+-"), s)
			if !found {
				rest, found = strings.CutSuffix(t, s)
			}
			if found && strings.ContainsAny(rest, "0123456789") {
				f.Currency = append(f.Currency, s)
				break
			}
		}
	}
	for _, t := range texts {
		f.Percent = f.Percent || strings.Contains(t, "%")
	}
	best := Detected{}
	try := func(decimal, thousands string) {
		g := f
		g.Decimal, g.Thousands = decimal, thousands
		read, differs := 0, false
		for _, t := range texts {
			v, ok := g.Parse([]byte(t))
			if !ok {
				continue
			}
			read++
			w, also := best.Format.Parse([]byte(t))
			differs = differs || also && v != w
		}
		switch {
		case read > best.Read:
			best = Detected{Format: g, Read: read}
		case read == best.Read && read > 0:
			best.Ambiguous = best.Ambiguous || differs
		}
	}
	try("", "")
	if best.Read == len(texts) {
		return plainest(best, texts)
	}
	for _, x := range [][2]string{{".", ","}, {",", ""}, {",", "."}, {".", " "}, {",", " "}, {".", "'"}, {",", "'"},
		{".", "_"}} {
		try(x[0], x[1])
	}
	return plainest(best, texts)
}

// plainest leaves out the parts of a format without which as many texts are read.
func plainest(d Detected, texts []string) Detected {
	if d.Read == 0 {
		return Detected{}
	}
	count := func(f Format) (n int) {
		for _, t := range texts {
			if _, ok := f.Parse([]byte(t)); ok {
				n++
			}
		}
		return n
	}
	less := d.Format
	less.Percent = false
	if count(less) == d.Read {
		d.Format = less
	}
	for i := len(d.Format.Currency) - 1; i >= 0; i-- {
		less := d.Format
		less.Currency = append(append([]string{}, less.Currency[:i]...), less.Currency[i+1:]...)
		if count(less) == d.Read {
			d.Format = less
		}
	}
	if len(d.Format.Currency) == 0 {
		d.Format.Currency = nil
	}
	if d.Format.Decimal == "." {
		d.Format.Decimal = ""
	}
	return d
}

// Join is the format of a file of which two columns have the formats f and g; ok is false where they contradict each
// other.
func Join(f, g Format) (joined Format, ok bool) {
	part := func(a, b string, known bool) (string, bool) {
		if a == "" || a == b {
			return b, true
		}
		return a, b == "" && known
	}
	joined.Decimal, ok = part(f.Decimal, g.Decimal, true)
	if !ok {
		return Format{}, false
	}
	if joined.Thousands, ok = part(f.Thousands, g.Thousands, true); !ok {
		return Format{}, false
	}
	joined.Percent = f.Percent || g.Percent
	joined.Currency = append([]string{}, f.Currency...)
	for _, c := range g.Currency {
		if !contains(joined.Currency, c) {
			joined.Currency = append(joined.Currency, c)
		}
	}
	if len(joined.Currency) == 0 {
		joined.Currency = nil
	}
	return joined, joined.Check() == nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
