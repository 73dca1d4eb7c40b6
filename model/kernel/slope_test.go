package kernel

import (
	"math"
	"testing"

	"liftstream/model"
)

// lonely has a nominal feature with two records a level, so that a record is half of its level. The class is noise, or
// that of the level at a share of the records.
func lonely(n int, told float64) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	s.Features = []model.Feature{{Name: "f", Kind: model.Nominal}}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 1), Seed: 3}
	for i := range n {
		level := i / 2
		ev.Columns[0] = append(ev.Columns[0], float64(level))
		for ev.Levels.Count(0) <= level {
			ev.Levels.Code(0, string(rune('A'+ev.Levels.Count(0))))
		}
		y := int32(model.Hash(1, uint64(i)) & 1)
		if unit(5, i, 0) < told {
			y = int32(model.Hash(2, uint64(level)) & 1)
		}
		ev.Class, ev.Weight = append(ev.Class, y), append(ev.Weight, 1+2*unit(6, i, 0))
	}
	return ev
}

// TestTheSlopeIsFittedWithoutTheRecordItself: beta maximises the likelihood of scores that leave the record out,
// computed here pair by pair. For noise it is about 0, although a record always speaks for its own class.
func TestTheSlopeIsFittedWithoutTheRecordItself(t *testing.T) {
	const n = 600
	for _, told := range []float64{0, .5} {
		ev := lonely(n, told)
		rows := make([]int32, n)
		total, share, all := make([]float64, 2), make([]float64, 2), 0.
		var square float64
		for i := range rows {
			rows[i] = int32(i)
			total[ev.Class[i]] += ev.Weight[i]
			all += ev.Weight[i]
			square += ev.Weight[i] * ev.Weight[i]
		}
		for y := range share {
			share[y] = total[y] / all
		}
		a := newAxis(&ev.Schema.Features[0], ev.Columns[0], ev.Weight, rows)
		const alpha = .7
		c := tabulate(ev, 0, &a, []Base{{Shape: Delta}}, []float64{alpha}, total)
		c.centre(share)
		got := slope(ev, []*curve{c}, total, share, alpha)

		// The score of each record by all others: the mean similarity to each class less the mean similarity to all.
		s := make([][2]float64, n)
		top := 0.
		for i := range s {
			var mean [2]float64
			for j := range s {
				y, w := ev.Class[j], ev.Weight[j]
				left := total[y]
				if y == ev.Class[i] {
					left -= ev.Weight[i]
				}
				if j != i && ev.Columns[0][j] == ev.Columns[0][i] {
					mean[y] += alpha * w / left
				}
			}
			centre := share[0]*mean[0] + share[1]*mean[1]
			s[i] = [2]float64{mean[0] - centre, mean[1] - centre}
			top = max(top, math.Abs(s[i][0]), math.Abs(s[i][1]))
		}
		unit := square / all
		likelihood := func(beta float64) (sum float64) {
			for i, x := range s {
				y := ev.Class[i]
				sum += ev.Weight[i] / unit * (beta*x[y] - math.Log(share[0]*math.Exp(beta*x[0])+share[1]*math.Exp(beta*x[1])))
			}
			return sum - beta*beta*top*top/8 // the pseudo-record
		}
		lo, hi := 0., 10/top
		for range 200 { // ternary search of a concave function
			if a, b := lo+(hi-lo)/3, hi-(hi-lo)/3; likelihood(a) < likelihood(b) {
				lo = a
			} else {
				hi = b
			}
		}
		if math.Abs(got-lo) > .05*lo+.05/top {
			t.Errorf("labels of the level at a share of %v: beta %v, want %v", told, got, lo)
		}
		if told == 0 && got*top > .3 {
			t.Errorf("noise has log-odds of up to %v", got*top)
		}
		if told > 0 && got*top < .5 {
			t.Errorf("what half of the levels tell is believed by %v in log-odds alone", got*top)
		}
	}
}

// TestTheThirdOfATripleIsDrawnByWeight: by weight among the classes other than the anchor's, and among the records of a
// class.
func TestTheThirdOfATripleIsDrawnByWeight(t *testing.T) {
	const n, classes, count = 1000, 5, 8000
	class, weight, rows := make([]int32, n), make([]float64, n), make([]int32, n)
	total, older := make([]float64, classes), make([]float64, classes) // of the records of a class, and of its older half
	for i := range rows {
		rows[i], weight[i] = int32(i), 1+float64(i%3)+3*float64(i/(n/2))
		class[i] = []int32{0, 0, 0, 0, 1, 1, 2, 2, 2, 4}[i%10] // class 3 has no record
		total[class[i]] += weight[i]
		if i < n/2 {
			older[class[i]] += weight[i]
		}
	}
	all := 0.
	for _, v := range total {
		all += v
	}
	var drawn [classes][classes]float64
	var of, old [classes]float64
	for _, c := range draw(class, weight, rows, classes, count, 9, 1) {
		k := class[c[2]]
		drawn[class[c[0]]][k]++
		of[k]++
		if c[2] < n/2 {
			old[k]++
		}
	}
	for _, y := range []int{0, 1, 2, 4} {
		for k := range total {
			want := total[k] / (all - total[y])
			if k == y {
				want = 0
			}
			if got := drawn[y][k] / (count / 4); math.Abs(got-want) > .04 {
				t.Errorf("anchors of class %d: a share of %.3f of the others is of class %d, want %.3f", y, got, k, want)
			}
		}
		if got, want := old[y]/of[y], older[y]/total[y]; math.Abs(got-want) > .05 {
			t.Errorf("class %d: a share of %.3f of the drawn records is of the older half, want %.3f", y, got, want)
		}
	}
}
