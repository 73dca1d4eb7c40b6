package codec

import (
	"testing"

	"liftstream/model"
)

// TestUnusualColumn: it stands at the end, and is null where no feature is unusual, and where none is looked for.
func TestUnusualColumn(t *testing.T) {
	o := contractOptions()
	o.Unusual = true
	lastColumns(t, o, func(s *model.Scores) { s.Unusual = []int32{1, -1} },
		`"unusual":"`+o.Schema.Features[1].Name+`"}`, `"unusual":null}`)
	lastColumns(t, o, func(s *model.Scores) { s.Unusual = nil }, `"unusual":null}`, `"unusual":null}`)
}
