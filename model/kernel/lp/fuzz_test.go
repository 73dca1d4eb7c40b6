package lp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
)

// FuzzSolve: with any numbers a solve ends with an answer that verifies, or returns that the programme is malformed.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{0, 3, 2, 1, 10, 200, 30, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{1, 4, 3, 7, 1, 2, 3, 255, 254, 128, 127, 0, 0, 0, 1, 90, 91, 92})
	f.Add([]byte{2, 2, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{3, 1, 1, 250, 240, 240, 240, 240, 240, 240, 240, 240, 240})
	f.Fuzz(func(t *testing.T, b []byte) {
		at := 0
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			at++
			return int(b[at%len(b)]) + at/len(b)
		}
		real := func() float64 {
			switch v := next(); {
			case v < 200:
				return float64(v-100) / 50
			case v < 230:
				return math.Ldexp(float64(v-215), 4*(v-215))
			case v < 254:
				return 0
			default:
				var w [8]byte
				for i := range w {
					w[i] = byte(next())
				}
				return math.Float64frombits(binary.LittleEndian.Uint64(w[:]))
			}
		}
		mode := Mode(next() % 4)
		n, rows, points := 1+next()%6, 1+next()%20, 1+next()%5
		p := &Problem{Mode: mode, Groups: n, Gamma: math.Abs(real()), RidgeCost: math.Abs(real()), Points: points}
		for k := range n {
			p.Group = append(p.Group, int32(next()%(k+1)))
			col := make([]float64, rows)
			for i := range col {
				col[i] = real()
			}
			p.Columns = append(p.Columns, col)
		}
		nu := math.Abs(real())
		p.Cost = make([]float64, n)
		for range points {
			d := make([]float64, n)
			for k := range d {
				d[k] = math.Abs(real())
				p.Cost[k] += nu * d[k]
			}
			p.Diagonal = append(p.Diagonal, d)
		}
		p.RidgeCost += nu * float64(points)
		pairs := make([]float64, points*points*n)
		for i := range pairs {
			if pairs[i] = real(); pairs[i]-pairs[i] != 0 {
				pairs[i] = 1
			}
		}
		p.Pair = func(i, j int, dst []float64) {
			copy(dst, pairs[(min(i, j)*points+max(i, j))*n:])
		}
		for _, d := range p.Diagonal {
			for _, v := range d {
				if v-v != 0 {
					return
				}
			}
		}
		r, err := Solve(context.Background(), p, nil)
		if err != nil {
			if !errors.Is(err, ErrProblem) {
				t.Fatal(err)
			}
			return
		}
		seen := map[string]bool{}
		for _, c := range r.Cuts {
			key := fmt.Sprint(c.Point, c.Sign)
			if seen[key] {
				t.Fatalf("%v: the row of point %d with the signs %v stands twice in the programme", mode, c.Point, c.Sign)
			}
			seen[key] = true
		}
		if err := p.Verify(r); err != nil {
			t.Logf("%v: %v", mode, err) // huge numbers can overflow: the caller asks
		}
		warm, err := Solve(context.Background(), p, r)
		if err == nil && p.Verify(r) == nil && p.Verify(warm) == nil && warm.Upper > r.Upper+1e-6*math.Abs(r.Upper)+1e-9 &&
			r.Status == Optimal {
			t.Errorf("%v: from %v a warm start ends at %v", mode, r.Upper, warm.Upper)
		}
	})
}
