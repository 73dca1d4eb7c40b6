package replay

import (
	"liftstream/model"
	"liftstream/stream/state"
)

// Prepare begins the preparation of m.Swap(version), see model.Prepare; nil = it is not worth one.
func Prepare(m *Machine, version int64) (x *model.Prepared) {
	next, err := published(m, version)
	if err != nil {
		return nil // Swap says why
	}
	_ = state.Contain(func() error {
		x = model.Prepare(m.Part, next)
		return nil
	})
	return x
}

// SwapPrepared makes the version serve that was prepared. It reports whether it did; where it did not, nothing has
// changed, and m.Swap is to be called.
func SwapPrepared(m *Machine, version int64, x *model.Prepared) bool {
	if !x.Swap() {
		return false
	}
	m.At.Model = version
	return true
}
