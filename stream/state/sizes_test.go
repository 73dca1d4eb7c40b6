package state

import "testing"

// TestASectionAboveOneGiB: a configuration can ask for a section of that size, so a restart reads its manifest.
func TestASectionAboveOneGiB(t *testing.T) {
	m := &Manifest{Format: 1, Number: 1, Sections: []Stored{{Name: "reservoir",
		Blob: Blob{Chunks: 4096, Packed: 1 << 30, Length: 1<<30 + 1}}}}
	got, err := DecodeManifest(m.Encode(), 1)
	if err != nil || got.Sections[0] != m.Sections[0] {
		t.Errorf("%+v, %v", got, err)
	}
}
