package model

import (
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// sectionStill is the name of the section of a state that learns nothing. Other states have none, so that their bytes
// are those of builds that do not know it.
const sectionStill = "still"

// stillFormat is the version of the binary form of that section.
const stillFormat = 1

// SetLearning switches the learning of a partition off or on. While it is off, records are scored as before by the
// counts as they are: a label that comes with its event is passed over, one that comes later takes its record out of
// the pending store, and a record that expires is learnt as no class. Records without a label go on to wait, and the
// stream time goes on.
func SetLearning(p *Partition, on bool) { p.still = !on }

// Learning reports whether a partition learns, see SetLearning.
func Learning(p *Partition) bool { return !p.still }

// loadStill reads the section of a state that learns nothing.
func loadStill(names []string, read reader) (still bool, err error) {
	if !slices.Contains(names, sectionStill) {
		return false, nil
	}
	err = read(sectionStill, func(b []byte) error {
		r := wire.NewReader(b)
		if format := r.Uvarint(); r.Err() == nil && format != stillFormat {
			return fmt.Errorf("format %d, this build reads %d", format, stillFormat)
		}
		return r.Done()
	})
	if err != nil {
		return false, fmt.Errorf("decoding %s: %w", sectionStill, err)
	}
	return true, nil
}
