package drift

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// river is golden.json, which testdata/golden.py writes with river.
type river struct {
	Windows []struct {
		Delta  float64 `json:"delta"`
		Clock  int     `json:"clock"`
		Most   int     `json:"max_buckets"`
		Least  int     `json:"min_window_length"`
		Period int     `json:"grace_period"`
	} `json:"windows"`
	Tests []struct {
		Least     int     `json:"min_instances"`
		Delta     float64 `json:"delta"`
		Threshold float64 `json:"threshold"`
		Alpha     float64 `json:"alpha"`
		Mode      string  `json:"mode"`
	} `json:"tests"`
	Cases []struct {
		Kind  string    `json:"kind"`
		Seed  uint64    `json:"seed"`
		N     int       `json:"n"`
		First []float64 `json:"first"`
		Wide  []struct {
			Alarms   [][4]float64 `json:"alarms"` // position, and width, mean and variance after it
			Width    float64      `json:"width"`
			Mean     float64      `json:"mean"`
			Variance float64      `json:"variance"`
		} `json:"wide"`
		Fresh   [][]int `json:"fresh"`
		Hinkley [][]int `json:"hinkley"`
	} `json:"cases"`
}

// mix and uniform are the formulas of golden.py.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func uniform(seed uint64, i, k int) float64 {
	return float64(mix(mix(seed)+uint64(16*i+k))>>11) / (1 << 53)
}

func truth(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

func number(kind string, seed uint64, i, n int) float64 {
	a, b := uniform(seed, i, 0), uniform(seed, i, 1)
	switch kind {
	case "errors, steady":
		return truth(a < .2)
	case "errors, abrupt":
		return truth(a < [...]float64{.2, .35, .1, .1}[4*i/n])
	case "errors, gradual":
		return truth(a < .1+.5*float64(i)/float64(n))
	case "losses, steady":
		return -math.Log(1 - .9*a)
	case "losses, abrupt":
		return -math.Log(1-.9*a) * [...]float64{1, 1.6}[3*i/n%2]
	case "sums, abrupt":
		return a + b - 1 + [...]float64{0, .3, -.2, .1, .1}[5*i/n]
	case "outliers":
		if b < .002 {
			return 30 * a
		}
		return a
	default:
		return .25 + .5*float64(2*i/n)
	}
}

func golden(t *testing.T) river {
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var r river
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) == 0 || len(r.Windows) == 0 || len(r.Tests) == 0 {
		t.Fatal("golden.json holds no case")
	}
	return r
}

// alarms are the places where the detector gives alarm.
func alarms(d Detector, xs []float64, after func(i int)) []int {
	at := []int{}
	for i, x := range xs {
		if d.Add(x) {
			at = append(at, i)
			if after != nil {
				after(i)
			}
		}
	}
	return at
}

// TestGolden: alarms at the places of river, and windows of its width, mean and variance after each and at the end.
// Sums of squares that are merged in another order differ in their last digits, so 1e-9 is allowed.
func TestGolden(t *testing.T) {
	r := golden(t)
	windows, resets, tests := 0, 0, 0
	for _, c := range r.Cases {
		xs := make([]float64, c.N)
		for i := range xs {
			xs[i] = number(c.Kind, c.Seed, i, c.N)
		}
		for i, x := range c.First {
			if math.Abs(x-xs[i]) > 1e-15 {
				t.Fatalf("%s: number %d is %v, want %v", c.Kind, i, xs[i], x)
			}
		}
		for k, o := range r.Windows {
			options := ADWINOptions{Delta: o.Delta, Clock: o.Clock, Buckets: o.Most, Least: o.Least, Grace: o.Period}
			if k == 0 && options != DefaultADWIN() {
				t.Errorf("default options %+v, want %+v", DefaultADWIN(), options)
			}
			a, want := NewADWIN(options), c.Wide[k]
			var at [][4]float64
			alarms(a, xs, func(i int) {
				at = append(at, [4]float64{float64(i), float64(a.Width()), a.Mean(), a.Variance()})
			})
			if !slices.EqualFunc(at, want.Alarms, func(p, q [4]float64) bool {
				return p[0] == q[0] && p[1] == q[1] && math.Abs(p[2]-q[2]) < 1e-9 && math.Abs(p[3]-q[3]) < 1e-9
			}) {
				t.Errorf("%s: %+v: alarms %v, want %v", c.Kind, options, at, want.Alarms)
			}
			if float64(a.Width()) != want.Width || math.Abs(a.Mean()-want.Mean) > 1e-9 ||
				math.Abs(a.Variance()-want.Variance) > 1e-9 {
				t.Errorf("%s: %+v: at the end %d, %v, %v; want %+v", c.Kind, options, a.Width(), a.Mean(), a.Variance(), want)
			}
			b := NewADWIN(options)
			if got := alarms(b, xs, func(int) { b.Reset() }); !slices.Equal(got, c.Fresh[k]) {
				t.Errorf("%s: %+v: begun anew: alarms %v, want %v", c.Kind, options, got, c.Fresh[k])
			}
			windows, resets = windows+len(at), resets+len(c.Fresh[k])
		}
		for k, o := range r.Tests {
			options := PageHinkleyOptions{Least: o.Least, Delta: o.Delta, Threshold: o.Threshold, Alpha: o.Alpha,
				Direction: map[string]Direction{"both": Both, "up": Up, "down": Down}[o.Mode]}
			if k == 0 && options != DefaultPageHinkley() {
				t.Errorf("default options %+v, want %+v", DefaultPageHinkley(), options)
			}
			got := alarms(NewPageHinkley(options), xs, nil)
			if !slices.Equal(got, c.Hinkley[k]) {
				t.Errorf("%s: %+v: alarms %v, want %v", c.Kind, options, got, c.Hinkley[k])
			}
			tests += len(got)
		}
	}
	if windows < 20 || resets < 20 || tests < 20 {
		t.Errorf("%d, %d and %d alarms: too few to tell", windows, resets, tests)
	}
}
