package scan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBound: entries by hand; both ways give the same bits for ranges of any size, infinite ones among them.
func TestBound(t *testing.T) {
	r := &Range{}
	for c := range Cells {
		r.Low[c], r.High[c] = float32(10*c), float32(10*c+5)
	}
	r.Low[0], r.High[Cells-1] = float32(math.Inf(-1)), float32(math.Inf(1))
	var got Table
	got.Bound(r, 12, 2000, .5)
	// Cell 1 has 12, cell 0 ends 7 below, cell 2 begins 8 above; from 45 away on all are capped, and 255 is the last.
	want := Table{24, 0, 32, 162}
	for c := 4; c < Cells; c++ {
		want[c] = Full
	}
	if got != want {
		t.Errorf("entries %v, want %v", got, want)
	}
	got.Bound(r, 12, 100, .5)
	if want = (Table{24, 0, 32, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50}); got != want {
		t.Errorf("capped entries %v, want %v", got, want)
	}
	rd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		for c := range Cells {
			r.Low[c] = float32(rd.IntN(1<<19) - 1<<18)
			r.High[c] = r.Low[c] + float32(rd.IntN(1<<rd.IntN(18)))
			if rd.IntN(9) == 0 {
				r.Low[c] = float32(math.Inf(-1))
			}
			if rd.IntN(9) == 0 {
				r.High[c] = float32(math.Inf(1))
			}
		}
		q := float32(rd.IntN(1<<19) - 1<<18)
		most, factor := float32(math.Exp2(40*rd.Float64())), float32(math.Exp2(60*rd.Float64()-45))
		got.Bound(r, q, most, factor)
		boundPlain(r, q, most, factor, &want)
		if got != want {
			t.Fatalf("%v at %v, most %v, factor %v: %v, in plain Go %v", r, q, most, factor, got, want)
		}
	}
}

// TestSums: sums, minima and the records at most at a limit, beside one loop a record; sums begin anywhere and end at
// 255, features come in any order and more than once.
func TestSums(t *testing.T) {
	rd := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		wide, n := 1+rd.IntN(40), Group*rd.IntN(5)
		codes := make(Codes, Size(n, wide))
		for i := range codes {
			codes[i] = uint8(rd.IntN(Cells))
		}
		features, tables := make([]uint32, rd.IntN(wide+3)), []Table(nil)
		high := 1 + rd.IntN(40)
		for i := range features {
			features[i] = uint32(rd.IntN(wide))
			var x Table
			for c := range x {
				if x[c] = uint8(rd.IntN(high)); rd.IntN(50) == 0 {
					x[c] = Full
				}
			}
			tables = append(tables, x)
		}
		sums := make([]uint8, n)
		for k := range sums {
			if round%2 == 0 {
				sums[k] = uint8(rd.IntN(256))
			}
		}
		want, least := make([]uint8, n), [Lanes]uint8{}
		for i := range least {
			least[i] = Full
		}
		for k := range want {
			s := int(sums[k])
			for i, j := range features {
				s += int(tables[i][codes[At(k, int(j), wide)]])
			}
			want[k] = uint8(min(s, Full))
			least[k%Lanes] = min(least[k%Lanes], want[k])
		}
		plain, low := slices.Clone(sums), least
		for i := range low {
			low[i] = Full
		}
		if sumUpPlain(codes, wide, features, tables, plain, &low); !slices.Equal(plain, want) || low != least {
			t.Fatalf("%d records, %d features: in plain Go %v and %v, want %v and %v", n, len(features), plain, low, want, least)
		}
		if low = Sums(codes, wide, features, tables, sums); !slices.Equal(sums, want) || low != least {
			t.Fatalf("%d records, %d features: %v and %v, want %v and %v", n, len(features), sums, low, want, least)
		}
		for _, limit := range []uint8{0, uint8(rd.IntN(256)), Full} {
			part := sums[:rd.IntN(n+1)]
			var list []int32
			for k, s := range part {
				if s <= limit {
					list = append(list, int32(k))
				}
			}
			if got := AtMost(part, limit, nil); !slices.Equal(got, list) || !slices.Equal(atMostPlain(part, limit, nil), list) {
				t.Fatalf("at most %d of %v: %v, want %v", limit, part, got, list)
			}
		}
	}
}

// TestDistances beside whole numbers, with absent places, terms without a weight, caps, and levels whose squares double
// precision does not hold.
func TestDistances(t *testing.T) {
	rd := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		wide, n := Together*(1+rd.IntN(6)), 1+rd.IntN(50)
		quads := make([]Quad, wide/Together)
		q, most, weight, absent := make([]int64, wide), make([]int64, wide), make([]int64, wide), make([]int64, wide)
		places := make([]int32, n*wide)
		for j := range wide {
			span := 1 << 18
			if most[j] = 1 << 40; rd.IntN(3) == 0 {
				most[j] = int64(rd.IntN(1 << 30))
			}
			if rd.IntN(4) == 0 {
				span, most[j] = 1<<27, 1<<29
			}
			q[j], weight[j], absent[j] = int64(rd.IntN(2*span)-span), int64(rd.IntN(1<<9)), int64(rd.IntN(1<<40))
			if rd.IntN(5) == 0 {
				weight[j] = 0
			}
			for k := range n {
				if places[k*wide+j] = int32(rd.IntN(2*span) - span); rd.IntN(6) == 0 {
					places[k*wide+j] = Absent
				}
			}
			u, i := &quads[j/Together], j%Together
			u.Q[i], u.Most[i], u.Weight[i], u.Absent[i] = float64(q[j]), float64(most[j]), float64(weight[j]), float64(absent[j])
		}
		list := make([]int32, rd.IntN(2*n))
		want := make([]int64, len(list))
		for i := range list {
			list[i] = int32(rd.IntN(n))
			for j, v := range places[int(list[i])*wide:][:wide] {
				if v == Absent {
					want[i] += absent[j]
				} else {
					d := int64(v) - q[j]
					want[i] += min(d*d, most[j]) * weight[j]
				}
			}
		}
		got := make([]int64, len(list))
		if Distances(places, quads, list, got); !slices.Equal(got, want) {
			t.Fatalf("distances %v, want %v", got, want)
		}
		clear(got)
		if len(list) > 0 {
			if measurePlain(places, quads, list, got); !slices.Equal(got, want) {
				t.Fatalf("in plain Go %v, want %v", got, want)
			}
		}
	}
}

// TestWrongSizes: slices that do not fit panic before anything reads beyond them.
func TestWrongSizes(t *testing.T) {
	for name, f := range map[string]func(){
		"sums":     func() { Sums(make(Codes, Group), 1, nil, nil, make([]uint8, Group-1)) },
		"codes":    func() { Sums(make(Codes, 2*Group-1), 2, nil, nil, make([]uint8, Group)) },
		"tables":   func() { Sums(make(Codes, Group), 1, []uint32{0}, nil, make([]uint8, Group)) },
		"feature":  func() { Sums(make(Codes, Group), 1, []uint32{1}, make([]Table, 1), make([]uint8, Group)) },
		"record":   func() { Distances(make([]int32, 8), make([]Quad, 1), []int32{2}, make([]int64, 1)) },
		"negative": func() { Distances(make([]int32, 8), make([]Quad, 1), []int32{-1}, make([]int64, 1)) },
		"out":      func() { Distances(make([]int32, 8), make([]Quad, 1), []int32{0, 1}, make([]int64, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func BenchmarkSums(b *testing.B) {
	const n, wide = 1024, 15
	codes := make(Codes, Size(n, wide))
	for i := range codes {
		codes[i] = uint8(i % Cells)
	}
	features, tables, sums := make([]uint32, wide), make([]Table, wide), make([]uint8, n)
	for i := range features {
		features[i] = uint32(i)
	}
	for b.Loop() {
		clear(sums)
		Sums(codes, wide, features, tables, sums)
	}
}

func BenchmarkDistances(b *testing.B) {
	const n = 64
	places, quads := make([]int32, 16*n), make([]Quad, 4)
	list, out := make([]int32, n), make([]int64, n)
	for i := range list {
		list[i] = int32(i)
	}
	for b.Loop() {
		Distances(places, quads, list, out)
	}
}
