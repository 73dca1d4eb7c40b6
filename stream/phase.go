package stream

import "fmt"

// Phase says where the task of a partition is in its work.
type Phase uint8

// The phases, mostly in this order. A task that waits takes its partition over anew afterwards.
const (
	TakingOver Phase = iota
	Restoring
	AwaitingDeadLetters // of a transaction of somebody else
	AwaitingModel       // that is to serve first
	WritingState        // a snapshot before anything more is learnt
	Running
	Paused // by policy.dead_share, until an operator resumes it
	Draining
	Waiting // after an error
	Ended
)

var phases = [...]string{
	"taking over", "restoring", "waiting for the end of somebody else's transaction among the dead letters",
	"waiting for the model that serves first", "writing the state first", "running", "paused", "draining", "waiting",
	"ended",
}

// String returns the phase in words.
func (p Phase) String() string { return phases[p] }

// MarshalText writes the phase in words.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a phase as MarshalText writes it.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phases {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("reading a phase: %q is none", text)
}
