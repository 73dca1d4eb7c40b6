package show

import (
	"fmt"
	"io"

	"liftstream/stream/verify"
)

// Verification prints the verdicts of verify, and reports whether anything differs.
func Verification(w io.Writer, found []verify.Verdict) (differs bool) {
	for _, v := range found {
		switch {
		case v.Start == "" && len(v.Problems) == 0:
			fmt.Fprintf(w, "partition %d: nothing is committed yet\n", v.Partition)
		case len(v.Problems) == 0:
			fmt.Fprintf(w, "partition %d: events %d to %d replayed from %s: %d scores messages with %d records and %d states "+
				"are the same; %d model switches, %d label offsets",
				v.Partition, v.From, v.To, v.Start, v.Messages, v.Records, v.States, v.Swaps, v.Labels)
			if v.Unread > 0 {
				fmt.Fprintf(w, "; %d snapshots are no longer whole", v.Unread)
			}
			fmt.Fprintln(w)
		}
		if v.Because != "" && len(v.Problems) > 0 {
			fmt.Fprintf(w, "partition %d: %s\n", v.Partition, v.Because)
		}
		for _, p := range v.Problems {
			differs = true
			fmt.Fprintf(w, "partition %d: %s\n", v.Partition, p)
		}
		if v.More > 0 {
			fmt.Fprintf(w, "partition %d: and %d more\n", v.Partition, v.More)
		}
	}
	return differs
}
