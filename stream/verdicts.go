package stream

import "liftstream/stream/state"

// Verdicts returns the last verdicts of the gate in the model topic, of any process, oldest first: at most 32. They
// must not be changed. A Status has the newest one alone.
func Verdicts(s *Stage) []*state.GateVerdict { return s.models.Verdicts() }
