//go:build !unix

package lift

import "testing"

// reportCPU runs a benchmark; processor seconds are not known here.
func reportCPU(b *testing.B, run func()) {
	for b.Loop() {
		run()
	}
}
