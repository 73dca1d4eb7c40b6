package records

import (
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec/file"
	"liftstream/model/report/text"
)

// note says on one line how many values were read otherwise than they stood in the files, and nothing where none was.
func note(a *cli.App, n file.Notes) {
	var parts []string
	for _, c := range []struct {
		n          int
		what, then string
	}{{n.NaN, "value", "not a number and taken for missing"}, {n.Infinite, "value", "infinite and taken for missing"},
		{n.Rounded, "number", "rounded, beyond 2^53 or 15 digits"}, {n.Text, "text", "repaired, no UTF-8"},
		{n.Shortened, "text", "shortened"}, {n.UnknownClass, "label", "no class of the configuration and not learnt"}} {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.what+" is "+c.then)
		case c.n > 0:
			parts = append(parts, text.Count(c.n, c.what)+" are "+c.then)
		}
	}
	if n.First != nil {
		parts = append(parts, "the first one: "+n.First.Error())
	}
	parts = append(parts, n.Merged...)
	if n.Evicted > 0 {
		parts = append(parts, "the former records of "+text.Count(int(n.Evicted), "id")+" were forgotten, because "+
			"memory.recency is full: since_last and count take them for new when they come again")
	}
	if len(parts) > 0 {
		a.Notef("note: %s", strings.Join(parts, "; "))
	}
}
