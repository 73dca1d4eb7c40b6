//go:build unix

package lift

import (
	"syscall"
	"testing"
)

// reportCPU adds the processor seconds of an operation to a benchmark's figures: a busy machine does not change them.
func reportCPU(b *testing.B, run func()) {
	seconds := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	start := seconds()
	for b.Loop() {
		run()
	}
	b.ReportMetric((seconds()-start)/float64(b.N), "cpu-s/op")
}
