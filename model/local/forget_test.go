package local

import "testing"

// TestAPrototypeOfAnotherClassIsForgotten: the class of a record may have been corrected since the fit that has made it
// a prototype. Records that are none take nothing out.
func TestAPrototypeOfAnotherClassIsForgotten(t *testing.T) {
	c, ex := lived(t)
	most := len(c.structure.prototypes.class)
	found := 0
	for i := range ex {
		x := ex[i]
		x.Class = (x.Class + 1) % int32(len(c.schema.Classes))
		keys := c.Keys(&x)
		c.Forget(keys)
		if found += len(keys); len(keys) > 1 || i >= 500 && len(keys) > 0 {
			t.Fatalf("record %d is %d prototypes", i, len(keys))
		}
	}
	if left := len(c.structure.prototypes.class); found != most || left != 0 {
		t.Errorf("%d of %d prototypes are found, %d are left", found, most, left)
	}
}
