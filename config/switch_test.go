package config

import (
	"strings"
	"testing"
)

// TestOffSwitchesASectionOff: off changes the fingerprint and leaves the frame, so that a state is carried over.
func TestOffSwitchesASectionOff(t *testing.T) {
	parse := func(text string) *Config {
		t.Helper()
		with := strings.Replace(minimal, "record:\n", "record:\n  id: who\n", 1) + text
		c, _, err := Parse("t.yaml", []byte(with), environment)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	on := parse("")
	if on.Local.Off || on.Kernel.Off || on.Trees.Off || on.Drift.Off {
		t.Error("a section is off that nobody switched off")
	}
	seen := map[uint64]string{on.Fingerprint(): ""}
	for _, text := range []string{"local: off\n", "kernel: \"off\"\n", "trees: off\n", "drift: off\n",
		"local: off\nkernel: off\n"} {
		c := parse(text)
		if c.Local.Off != strings.Contains(text, "local") || c.Kernel.Off != strings.Contains(text, "kernel") ||
			c.Trees.Off != strings.Contains(text, "trees") || c.Drift.Off != strings.Contains(text, "drift") {
			t.Errorf("%q: local %v, kernel %v, trees %v", text, c.Local.Off, c.Kernel.Off, c.Trees.Off)
		}
		if was, ok := seen[c.Fingerprint()]; ok {
			t.Errorf("%q has the fingerprint of %q", text, was)
		}
		seen[c.Fingerprint()] = text
		if c.Frame() != on.Frame() {
			t.Errorf("%q is another frame", text)
		}
		again, _, err := Parse("t.yaml", c.Redacted(), environment)
		if err != nil || again.Fingerprint() != c.Fingerprint() {
			t.Errorf("%q does not survive a dump: %v\n%s", text, err, c.Redacted())
		}
	}
	// Duplicates can be left out from some day on without a state anew.
	once, twice := parse("dedup: {}\n"), parse("dedup: {window: 2h}\n")
	if once.Frame() != on.Frame() || twice.Frame() != on.Frame() {
		t.Error("dedup is part of the frame")
	}
	if f := once.Fingerprint(); f == on.Fingerprint() || f == twice.Fingerprint() {
		t.Error("dedup is no part of the fingerprint")
	}
	if parse("local: {theta: 0.5}\n").Frame() == on.Frame() {
		t.Error("a key of the section is no part of the frame")
	}
}
