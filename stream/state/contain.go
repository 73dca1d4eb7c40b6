package state

import (
	"fmt"
	"runtime/debug"
)

// Contain runs f and turns a panic into an error. The values of a topic may come from any writer, and one that passes
// the checks of the decoders and yet makes a model panic must not end the process.
func Contain(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
