package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// modelPrinter prints the model topic: versions, the gate's verdicts on models, and the orders of people.
type modelPrinter struct {
	linePrinter
	bytes map[string]int // of the chunks of versions not yet seen
}

// Print prints a version, a verdict or an order, and counts the bytes of a version's chunks before it.
func (p *modelPrinter) Print(r *txn.Record, _ int) (int, error) {
	kind, rest, _ := strings.Cut(string(r.Key), "/")
	switch kind {
	case "model":
		version, _, _ := strings.Cut(rest, "/")
		if r.Value != nil {
			p.bytes[version] += len(r.Value)
		}
	case "version":
		if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
			return 1, p.version(r, rest, n)
		}
	case "verdict":
		if v, err := state.ReadVerdict(r.Value); err == nil {
			return 1, p.print(r, v.Version, verdictWord(v), int64(len(r.Value)), verdictLine(v))
		}
	case "order":
		if o, err := state.ReadOrder(r.Value); err == nil {
			line := orderText(o) + " by " + o.Client
			if o.Why != "" {
				line += ": " + o.Why
			}
			return 1, p.print(r, o.Serve, "order", int64(len(r.Value)), line)
		}
	}
	return 0, nil // of somebody else, or shown with another record
}

// verdictWord tells the fate of the model in one word.
func verdictWord(v *state.GateVerdict) string {
	if v.Version > 0 {
		return "accepted"
	}
	word, _, _ := strings.Cut(verdictName(v), "/")
	return word
}

// verdictLine tells the verdict, and why before the figures: a table cuts long lines.
func verdictLine(v *state.GateVerdict) string {
	line := verdictText(&v.Verdict)
	if v.Note != "" {
		line = v.Note + "; " + line
	}
	return fmt.Sprintf("verdict %d, %s served: %s", v.Number, servedName(v.Previous), line)
}

// servedName names the version that served, or none.
func servedName(version int64) string {
	if version == 0 {
		return "no version"
	}
	return "model " + strconv.FormatInt(version, 10)
}

func (p *modelPrinter) version(r *txn.Record, version string, n int64) error {
	change := "published"
	if r.Value == nil {
		change = "deleted"
	}
	size := int64(p.bytes[version])
	delete(p.bytes, version)
	return p.print(r, n, change, size, "")
}

func (p *modelPrinter) print(r *txn.Record, version int64, what string, size int64, line string) error {
	at := "-"
	if !r.Time.IsZero() {
		at = r.Time.UTC().Format(time.RFC3339)
	}
	return p.line([]cell{{"version", version, 8}, {"what", what, 10}, {"time", at, 21}, {"bytes", size, 9},
		{"offset", r.Offset, 8}, {"text", line, 4}})
}
