package config

import (
	"slices"
	"testing"

	"liftstream/codec"
)

// TestReservedNamesAreTheColumnsOfTheScores holds the names that a configuration refuses against the table of columns.
func TestReservedNamesAreTheColumnsOfTheScores(t *testing.T) {
	if got, want := outputColumns, codec.ScoreNames(nil); !slices.Equal(got, want) {
		t.Errorf("a configuration refuses %q, and the columns of the scores are %q", got, want)
	}
	got, want := slices.Concat(controlColumns, intervalColumns, unusualColumns), codec.OptionalNames()
	if !slices.Equal(got, want) {
		t.Errorf("with all sections a configuration refuses %q, and the optional columns are %q", got, want)
	}
}
