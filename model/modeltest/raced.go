//go:build race

package modeltest

// raced says that the test runs under the race detector.
const raced = true
