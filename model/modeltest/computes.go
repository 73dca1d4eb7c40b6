package modeltest

import "testing"

// Computes marks a long test whose only goroutines are those of fits (model.Evidence.Share) and of gonum, each of which
// waits for its own. Under the race detector with -short, as CI runs it, it is skipped: there the conformance suite
// fits every component, and package model tests Share. .ci/raced.py refuses the mark in a test that starts anything
// else.
func Computes(t testing.TB) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("SKIPPED under the race detector: it computes, and nothing runs beside it")
	}
}
