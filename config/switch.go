package config

import "reflect"

// Switch is a section that `off` in its place switches off: `local: off`. The stage then runs without that component.
// Off shapes states as the other keys do, but is no part of the Frame: a state is carried over when it changes.
type Switch struct{ Off bool }

func (s *Switch) off() *bool { return &s.Off }

// switchable is a section with a Switch.
type switchable interface{ off() *bool }

// switchedOff is the value in place of a section that switches it off.
const switchedOff = "off"

// isOff reports whether v is a section that is switched off.
func isOff(v reflect.Value) bool {
	if !v.CanAddr() {
		return false
	}
	s, ok := v.Addr().Interface().(switchable)
	return ok && *s.off()
}
