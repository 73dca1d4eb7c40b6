package stream

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type fault struct {
	name    string
	nodes   int // that the broker must have; 0 = any number
	run     func(r *rig)
	options string // further sections of the configuration
}

// outcomes is of a stage whose records wait for their outcome, a record without one becomes a "no", and a label that
// comes after that takes it back; ids are held against doubles, and some stay untargeted.
const outcomes = `labels: {window: 2s, on_expiry: "no", correct: 4s, max_bytes: 4MiB}
dedup: {by: id, window: 1h}
control: {share: 0.1, by: id}
output: {interval: 95%, unusual: 1%}
segments: {low: "x < 0"}
`

// faults lists the runs: few disturbances each in the short form.
func faults(long bool) []fault {
	n := func(short, full int) int {
		if long {
			return full
		}
		return short
	}
	fs := []fault{
		{name: "stage killed", run: func(r *rig) { killStage(r, n(4, 100), 2000) }},
		{name: "connections cut, delayed, black-holed", nodes: 1, run: func(r *rig) { breakNetwork(r, n(6, 60)) }},
		{name: "produce held back", nodes: 1, run: func(r *rig) { holdBack(r, kmsg.Produce, n(3, 200)) }},
		{name: "end of transaction held back", nodes: 1, run: func(r *rig) { holdBack(r, kmsg.EndTxn, n(3, 200)) }},
		{name: "broker killed", run: func(r *rig) { killBroker(r, n(1, 10)) }},
		{name: "stage told to stop", nodes: 1, run: func(r *rig) { terminate(r, n(3, 30)) }},
		{name: "members replaced one by one", run: func(r *rig) { roll(r, 6, time.Duration(n(1, 5))*time.Second) }},
		{name: "leaders move", nodes: 3, run: func(r *rig) { moveLeaders(r, n(2, 10)) }},
	}
	if long {
		fs = append(fs,
			fault{name: "stage killed, outcomes by windows", run: func(r *rig) { killStage(r, 100, 2000) }, options: outcomes},
			fault{name: "members come and go", run: func(r *rig) { rebalance(r, 2*time.Minute) }},
			fault{name: "member stalled", run: func(r *rig) { stall(r, 3) }},
			fault{name: "all of it", nodes: 1, run: func(r *rig) { r.all(60) }})
	}
	return fs
}
