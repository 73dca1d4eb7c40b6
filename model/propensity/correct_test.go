package propensity

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// correction learns records as class 0, and corrects those of another class so many records later.
type correction struct {
	s     *Scorecard
	late  int
	waits []model.Example
	class []int32
}

func (x *correction) learn(ex model.Example, class int32) {
	pending := make([]float64, x.s.PendingLen())
	x.s.Score(ex.Row, nil, pending, make([]float64, x.s.classes))
	ex.Class = 0
	x.s.LearnScored(&ex, nil, pending)
	x.waits, x.class = append(x.waits, ex), append(x.class, class)
	if len(x.waits) <= x.late {
		return
	}
	first, y := x.waits[0], x.class[0]
	x.waits, x.class = x.waits[1:], x.class[1:]
	if y != 0 {
		x.s.Retract(&first)
		first.Class = y
		x.s.Correct(&first, 0, nil)
		x.s.Learn(&first)
	}
}

// TestCorrectionsLeaveTheirRates: where all records are learnt as class 0 and some are corrected, the mean propensities
// are the rates of the corrected classes, once the records from before are forgotten. Without Correct the calibration
// knows class 0 alone.
func TestCorrectionsLeaveTheirRates(t *testing.T) {
	const n, late = 16_000, 400
	for name, schema := range schemas() {
		for option, opt := range map[string]Options{"default": Default(), "follow": {Follow: true}, "alone": {Alone: true}} {
			if option != "default" && (testing.Short() || name != "two" && name != "many") {
				continue
			}
			s, _ := trained(t, schema, 300, opt)
			x := &correction{s: s, late: late}
			clock := s.clock.records
			_, fresh := modeltest.Generate(schema, 2000, 11)
			want, got := make([]float64, s.classes), make([]float64, s.classes)
			for i := range n {
				ex := fresh[i%len(fresh)]
				ex.Row, ex.Weight, ex.Clock, ex.Time = slices.Clone(ex.Row), 1, clock, int64(clock)*1e9
				clock++
				class := int32(0)
				if v := model.Hash(5, uint64(i)) % 10; v < 4 {
					class = 1 + int32(v)%int32(s.classes-1)
				}
				if i >= n/2 {
					want[class] += 2. / n
					for c, v := range check(t, name, s, ex.Row, nil) {
						got[c] += v * 2 / n
					}
				}
				x.learn(ex, class)
			}
			for c := range got {
				if math.Abs(got[c]-want[c]) > .025 {
					t.Errorf("%s, %s: mean propensities %.4f, the rates are %.4f", name, option, got, want)
					break
				}
			}
		}
	}
}

// TestACorrectionMovesCalibrationAndShares: each table has one record more of its new outcome and one fewer of the
// former one, and experts win by their odds of the new class, in the unit of all records and the corrected one, be it
// of another weight than they.
func TestACorrectionMovesCalibrationAndShares(t *testing.T) {
	for name, weight := range map[string]float64{"two": 1, "many": 1, "two, heavy": 4, "many, heavy": 4} {
		schema, _, _ := strings.Cut(name, ",")
		s, ex := trained(t, schemas()[schema], 300, Default())
		e := ex[17]
		e.Weight, e.Class, e.Clock = weight, 0, s.clock.records
		pending := make([]float64, s.PendingLen())
		s.Score(e.Row, nil, pending, make([]float64, s.classes))
		s.LearnScored(&e, nil, pending)
		outcomes := func() (sums []float64) {
			for k := range cards * s.margins {
				var sum [2]float64
				for i, v := range s.cal.table(s.cur.knot, k) {
					sum[i%2] += v
				}
				sums = append(sums, sum[0], sum[1])
			}
			return sums
		}
		before, q, unit := outcomes(), s.mix.own, s.unit
		s.Retract(&e)
		s.fixedShare = 0 // it draws all experts together
		e.Class = 1
		s.Score(e.Row, nil, pending, make([]float64, s.classes))
		s.Correct(&e, 0, nil)
		m := s.memoryOf(pending)
		for i, v := range outcomes() {
			want := before[i]
			if class, hit := i/2%s.margins, float64(i%2*2-1); s.margins == 1 || class == 1 {
				want += hit * weight * s.cal.weight
			} else if class == 0 {
				want -= hit * weight * s.cal.weight
			}
			if math.Abs(v-want) > 1e-9 {
				t.Errorf("%s: outcome %d of calibration table %d has the weight %v, want %v", name, i%2, i/2, v, want)
			}
		}
		for k := range experts {
			z := m.raw
			if k%2 == 1 {
				z = m.calibrated
			}
			gain := z[k/2*s.margins]
			if s.margins > 1 {
				gain = z[k/2*s.margins+1] - z[k/2*s.margins]
			}
			q[k] = math.Log(q[k]) + gain*s.rate*weight/unit
		}
		for k := range experts {
			for l := range k {
				want, got := q[k]-q[l], math.Log(s.mix.own[k]/s.mix.own[l])
				if math.Abs(got-want) > 1e-3 {
					t.Errorf("%s: experts %d and %d are %v apart, want %v", name, k, l, got, want)
				}
			}
		}
	}
}

// TestOddCorrections: of any weight, to any class and back, they leave a sound state that can be read back. Those of
// no weight or class change nothing.
func TestOddCorrections(t *testing.T) {
	for name, schema := range schemas() {
		s, ex := trained(t, schema, 300, Default())
		x := &correction{s: s, late: 3}
		for i := range 400 {
			e := ex[i%len(ex)]
			e.Row = slices.Clone(e.Row)
			if i%7 == 0 {
				for f := range e.Row {
					e.Row[f] = math.NaN()
				}
			}
			e.Weight = []float64{1, 1e300, 1e-300, 17, math.SmallestNonzeroFloat64}[i%5]
			e.Clock = s.clock.records
			x.learn(e, int32(i%2)*int32(s.classes-1))
			check(t, name, s, e.Row, nil)
		}
		if i := s.mass; !(i.weight > 0 && i.square > 0) {
			t.Errorf("%s: the weights of all records are %+v", name, i)
		}
		b := s.AppendState(nil)
		if err := s.LoadState(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, e := range []model.Example{{Row: ex[0].Row, Class: 1}, {Row: ex[0].Row, Class: 99, Weight: 1},
			{Row: ex[0].Row, Class: -1, Weight: 1}, {Row: ex[0].Row, Class: 1, Weight: math.NaN()}} {
			s.Correct(&e, 0, nil)
		}
		if e := (model.Example{Row: ex[0].Row, Class: 1, Weight: 1}); true {
			s.Correct(&e, -1, nil)
		}
		if !bytes.Equal(b, s.AppendState(nil)) {
			t.Errorf("%s: a correction that says nothing changes the state", name)
		}
	}
}

// TestACorrectionAddsNoMass: the weight of all records, in which steps are measured, stays as it is: the record counts
// in it since it was learnt.
func TestACorrectionAddsNoMass(t *testing.T) {
	for name, schema := range schemas() {
		s, ex := trained(t, schema, 300, Default())
		for i := range 20 {
			e := ex[i]
			was := e.Class
			e.Weight, e.Class = 5, (was+1)%int32(s.classes)
			mass, unit := s.mass, s.unit
			s.Correct(&e, was, nil)
			if s.mass != mass || s.unit != unit {
				t.Fatalf("%s, correction %d: the weight of all records is %+v with a unit of %v, was %+v and %v", name, i, s.mass,
					s.unit, mass, unit)
			}
		}
	}
}
