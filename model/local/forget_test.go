package local

import (
	"slices"
	"testing"
)

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

// TestPrototypesBesideAForgottenOneStay as they were: class, clock, places, and the relevance of each feature
// beside the others.
func TestPrototypesBesideAForgottenOneStay(t *testing.T) {
	c, ex := lived(t)
	describe := func() (of map[uint64][]float32, order []uint64) {
		p := &c.structure.prototypes
		of = map[uint64][]float32{}
		for k := range p.class {
			m := len(p.columns)
			of[p.key(k)], order = slices.Clone(p.beside[k*m:(k+1)*m]), append(order, p.key(k))
		}
		return of, order
	}
	before, order := describe()
	var gone []uint64
	for i := 0; i < 500; i += 3 {
		gone = append(gone, c.Keys(&ex[i])...)
	}
	found := c.Forget(gone)
	if found != len(gone) || found == 0 || found == len(order) {
		t.Fatalf("%d of %d prototypes are forgotten, %d were meant", found, len(order), len(gone))
	}
	after, left := describe()
	order = slices.DeleteFunc(order, func(k uint64) bool { return slices.Contains(gone, k) })
	if !slices.Equal(left, order) {
		t.Fatal("the other prototypes are not those of before, in their order")
	}
	for k, was := range before {
		if got, ok := after[k]; ok && !slices.Equal(got, was) {
			t.Errorf("prototype %x says %v beside the others, and said %v", k, got, was)
		}
	}
}
