package kernel

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
)

func TestDraw(t *testing.T) {
	const n = 4000
	class, weight, rows := make([]int32, n), make([]float64, n), make([]int32, n)
	for i := range rows {
		rows[i], weight[i] = int32(i), 1
		if model.Hash(5, uint64(i))%10 == 0 {
			class[i] = 1
		}
		if i%1000 == 0 {
			class[i] = 2
		}
	}
	weight[17], class[17] = 0, 1
	got := draw(class, weight, rows, 4, 3000, 9, recency)
	if !reflect.DeepEqual(got, draw(class, weight, rows, 4, 3000, 9, recency)) ||
		reflect.DeepEqual(got, draw(class, weight, rows, 4, 3000, 10, recency)) {
		t.Error("the draw is not a function of the seed")
	}
	if len(got) < 2900 {
		t.Errorf("%d triples of 3000", len(got))
	}
	anchors := map[int32]int{}
	var quarter [4]int
	for _, c := range got {
		i, j, k := c[0], c[1], c[2]
		if i == j || class[i] != class[j] || class[i] == class[k] || i == 17 || j == 17 || k == 17 {
			t.Fatalf("triple %v of classes %d %d %d", c, class[i], class[j], class[k])
		}
		anchors[class[i]]++
		if class[i] == 0 {
			quarter[i*4/n]++
		}
	}
	for y := range int32(3) {
		if anchors[y] < 900 {
			t.Errorf("class %d has %d of %d anchors", y, anchors[y], len(got))
		}
	}
	// The weight of recency^x over the quarters of [0, 1].
	for q := range quarter {
		want := 1000 * (math.Pow(recency, float64(q+1)/4) - math.Pow(recency, float64(q)/4)) / (recency - 1)
		if math.Abs(float64(quarter[q])-want) > 25 {
			t.Errorf("quarter %d has %d anchors, want %.0f", q, quarter[q], want)
		}
	}
	for name, c := range map[string][]int32{"one class": make([]int32, n), "unknown": slices.Repeat([]int32{-1}, n)} {
		if got := draw(c, weight, rows, 4, 100, 1, recency); got != nil {
			t.Errorf("%s: %d triples", name, len(got))
		}
	}
}

// TestGivenTriplesLieInTheHalfOfTheirFirst record, each in one half.
func TestGivenTriplesLieInTheHalfOfTheirFirst(t *testing.T) {
	var all [][3]int32
	for i := range int32(300) {
		all = append(all, [3]int32{i, (i + 101) % 300, (i + 202) % 300})
	}
	n := 0
	for h, rows := range halve([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3) {
		for _, i := range rows {
			if half(i, 3) != uint64(h) {
				t.Errorf("record %d lies in the other half", i)
			}
		}
		got := anchored(all, 3, uint64(h))
		n += len(got)
		for _, c := range got {
			if half(c[0], 3) != uint64(h) {
				t.Errorf("triple %v lies in half %d, its first record does not", c, h)
			}
		}
	}
	if n != len(all) {
		t.Errorf("%d of %d triples lie in a half", n, len(all))
	}
}
