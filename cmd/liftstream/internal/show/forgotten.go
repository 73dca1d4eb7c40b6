package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/report/text"
	"liftstream/stream/orders"
)

// Forgotten is the answer of a stage to orders to forget.
type Forgotten struct {
	Order      uint64 // the newest
	IDs        int    // of this call
	Partitions int
	State      string // topic of the states
	ModelTopic string
	Topics     []string // that are not the stage's to erase
	Models     []int64  // versions in the model topic
	Prototypes bool     // models hold records
	Running    bool     // the stage has members
	found      model.Forgotten
	obeyed     map[int]bool
	open       map[int]bool // partitions that have not obeyed, or not written new snapshots
}

// Take adds the answers of the partitions to an order.
func (f *Forgotten) Take(all []orders.Answer) {
	f.open = map[int]bool{}
	f.obeyed = map[int]bool{}
	for _, a := range all {
		f.found.Add(a.Found)
		if f.obeyed[a.Partition] = a.Obeyed; !a.Clean {
			f.open[a.Partition] = true
		}
	}
}

// Clean reports whether all partitions have obeyed and written.
func (f *Forgotten) Clean() bool { return len(f.open) == 0 }

// rows are the stores and their counts.
func (f *Forgotten) rows() (names []string, counts []int) {
	x := &f.found
	return []string{"waiting store", "tail", "reservoir", "prototypes", "dedup", "recency", "counts"},
		[]int{x.Waiting, x.Tail, x.Reservoir, x.Prototypes, x.Sieve, x.Recency, x.Counts}
}

// Write writes the answer for people.
func (f *Forgotten) Write(w io.Writer) error {
	var b strings.Builder
	if f.IDs > 0 {
		fmt.Fprintf(&b, "order %d: forget %s\n", f.Order, text.Count(f.IDs, "id"))
	} else {
		fmt.Fprintf(&b, "orders to forget up to %d\n", f.Order)
	}
	var waiting []string
	for p := range f.Partitions {
		if !f.obeyed[p] {
			waiting = append(waiting, fmt.Sprint(p))
		}
	}
	switch {
	case !f.Running:
		fmt.Fprintf(&b, "no process of the stage runs: each partition obeys at its start, before its next record\n")
	case len(waiting) > 0:
		fmt.Fprintf(&b, "not obeyed yet by partition %s\n", strings.Join(waiting, ", "))
	}
	if len(waiting) < f.Partitions && !f.found.Any() {
		b.WriteString("no partition that has answered knows a record of " + pronoun(f.IDs) + "\n")
	} else if f.found.Any() {
		b.WriteString("\nremoved from\n")
		names, counts := f.rows()
		for i, name := range names {
			text := fmt.Sprint(counts[i])
			if name == "recency" {
				text += " of the ids that since_last and count remember, by their conditions"
			}
			if name == "counts" {
				text += " of labelled records whose rows were still there: exactly where nothing fades, else to 1e-12"
			}
			fmt.Fprintf(&b, "  %-14s %s\n", name, text)
		}
	}
	if len(waiting) < f.Partitions {
		if f.Clean() {
			fmt.Fprintf(&b, "  %-14s none is left with them; compaction of %s takes the older values\n", "snapshots", f.State)
		} else {
			fmt.Fprintf(&b, "  %-14s still being written\n", "snapshots")
		}
	}
	b.WriteString("\nnot removed\n")
	b.WriteString("  counts of records whose rows had left tail and reservoir before; names of levels; weights and\n" +
		"  calibration, which all records share\n")
	if f.Partitions > 1 {
		b.WriteString("  counts that other partitions have by the serving model: the next one is without the records\n")
	}
	if n := len(f.Models); n > 0 && f.Prototypes {
		fmt.Fprintf(&b, "  models up to %d in %s: prototypes of their fits may be such records. The next fit, due at\n"+
			"  once, leaves them out; each of these models is deleted when it serves no more and no snapshot needs it\n",
			f.Models[n-1], f.ModelTopic)
	}
	fmt.Fprintf(&b, "  the topics %s: not the stage's to erase\n", strings.Join(f.Topics, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}

func pronoun(ids int) string {
	if ids == 1 {
		return "the id"
	}
	return "the ids"
}

// JSON returns the answer for programs.
func (f *Forgotten) JSON() any {
	removed := map[string]int{}
	names, counts := f.rows()
	for i, name := range names {
		removed[strings.ReplaceAll(name, " ", "_")] = counts[i]
	}
	open := []int{}
	for p := range f.open {
		open = append(open, p)
	}
	slices.Sort(open)
	return map[string]any{"order": f.Order, "ids": f.IDs, "running": f.Running, "removed": removed,
		"found": f.found.Any(), "clean": f.Clean(), "open_partitions": open, "models_before": f.Models,
		"topics_not_erased": f.Topics}
}
