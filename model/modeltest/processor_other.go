//go:build !unix

package modeltest

import "time"

// Processor is not known here.
func Processor() time.Duration { return 0 }
