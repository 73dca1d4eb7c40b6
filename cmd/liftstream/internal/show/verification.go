package show

import (
	"fmt"
	"io"

	"liftstream/model/report/text"
	"liftstream/stream/verify"
)

// Verification prints the verdicts of verify, and reports whether anything differs.
func Verification(w io.Writer, found []verify.Verdict) (differs bool) {
	for _, v := range found {
		switch {
		case v.Start == "" && len(v.Problems) == 0:
			fmt.Fprintf(w, "partition %d: nothing is committed yet\n", v.Partition)
		case len(v.Problems) == 0:
			fmt.Fprintf(w, "partition %d: events %d to %d replayed from %s: %s with %s and %s are the same; %s, %s",
				v.Partition, v.From, v.To, v.Start, text.Count(v.Messages, "scores message"), text.Count(v.Records, "record"),
				text.Count(v.States, "state"), text.Count(v.Swaps, "model switch"), text.Count(int(v.Labels), "label offset"))
			if v.Unread > 0 {
				fmt.Fprintf(w, "; no longer whole: %s", text.Count(v.Unread, "snapshot"))
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
