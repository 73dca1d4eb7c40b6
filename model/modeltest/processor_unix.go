//go:build unix

package modeltest

import (
	"syscall"
	"time"
)

// Processor is the processor time that the process has used.
func Processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
