package local

import (
	"math"
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

// TestNewestRecordsAfterAForgottenPrototype: the cells by which newest records are passed over are cut by prototypes.
// After some of these are forgotten the votes are those of the definition still.
func TestNewestRecordsAfterAForgottenPrototype(t *testing.T) {
	for _, w := range []way{byScan, byPacks} {
		c, ex := serving(t, 300)
		for i := range ex[300:] {
			c.Learn(&ex[300+i])
		}
		c = served(t, c, w)
		var keys []uint64
		for i := 0; i < 300; i++ {
			if !(ex[i].Row[0] > 0) {
				keys = append(keys, c.Keys(&ex[i])...)
			}
		}
		most := len(c.structure.prototypes.class)
		if found := c.Forget(keys); found < most/4 || found > most*3/4 {
			t.Fatalf("%d of %d prototypes are forgotten", found, most)
		}
		out := make([]float64, 2*len(c.schema.Classes))
		for i := range ex {
			c.Inputs(ex[i].Row, out)
			want := slowNewest(c.structure, ex[300:], ex[i].Row)
			for y, v := range want {
				if got := out[len(want)+y]; !(math.Abs(got-v) <= 1e-12*max(1, math.Abs(v))) {
					t.Fatalf("way %v, record %d: %v, want %v", w, i, out[len(want):], want)
				}
			}
		}
	}
}
