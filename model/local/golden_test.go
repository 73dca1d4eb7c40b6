package local

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model/gp"
	"liftstream/model/modeltest"
)

func TestPaperScores(t *testing.T) {
	var g struct {
		Score map[string]json.RawMessage `json:"paperA_score"`
		KL    []struct {
			Mu, Var float64
			MuRef   float64 `json:"mu_ref"`
			VarRef  float64 `json:"var_ref"`
			From    float64 `json:"kl_f_ref"`
			To      float64 `json:"kl_ref_f"`
		} `json:"paperA_kl"`
	}
	b, err := os.ReadFile("testdata/paper.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"separated", "mixed", "three"} {
		var c struct {
			X        []float64
			Y        []int32
			Hit, Bal []float64
		}
		if err := json.Unmarshal(g.Score[name], &c); err != nil {
			t.Fatal(err)
		}
		counts := make([]float64, 3)
		for _, y := range c.Y {
			counts[y]++
		}
		mass, _ := masses(c.X, c.Y, 3, .1, true)
		for i, y := range c.Y {
			m := mass[i*3 : i*3+3]
			if s := Hit.Record(m, counts, y); math.Abs(s-c.Hit[i]) > 1e-9 {
				t.Errorf("%s: hit score %d is %v, want %v", name, i, s, c.Hit[i])
			}
			if s := Balanced.Record(m, counts, y); math.Abs(s-c.Bal[i]) > 1e-9 {
				t.Errorf("%s: balanced score %d is %v, want %v", name, i, s, c.Bal[i])
			}
		}
	}
	for _, c := range g.KL {
		ref := reference{c.MuRef, math.Sqrt(c.VarRef)}
		if d := FromReference.of(c.Mu, c.Var, ref); math.Abs(d-c.From) > 1e-9*max(1, c.From) {
			t.Errorf("KL from the reference of %v is %v", c, d)
		}
		if d := ToReference.of(c.Mu, c.Var, ref); math.Abs(d-c.To) > 1e-9*max(1, c.To) {
			t.Errorf("KL to the reference of %v is %v", c, d)
		}
	}
}

// wdbc reads the shipped data: columns, classes 0 = B, 1 = M.
func wdbc(t testing.TB) (columns [][]float64, class []int32) {
	t.Helper()
	lines := modeltest.CSV(t, "testdata/wdbc.csv.gz")
	columns = make([][]float64, 30)
	for _, l := range lines[1:] {
		for j := range columns {
			v, err := strconv.ParseFloat(l[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[j] = append(columns[j], v)
		}
		class = append(class, int32(strings.Index("BM", l[30])))
	}
	return columns, class
}

type variant struct {
	Params struct {
		Neutral float64 `json:"neutral_and_prior_mean_M"`
	}
	Pearson  map[string][]float64 `json:"abs_pearson_first_rows"`
	Features []struct {
		Min, Max  float64
		Rows      []int     `json:"pivot_rows"`
		Y         []float64 `json:"pivot_y"`
		Mu, Var   []float64
		Record    []float64 `json:"S_record"`
		Averaged  []float64 `json:"S_avg"`
		BalRecord []float64 `json:"S_bal_record"`
		MeanAvg   float64   `json:"mean_S_avg"`
		MeanRec   float64   `json:"mean_S_record"`
	}
	Records []struct {
		Row  int
		From []float64 `json:"kl_f_ref"`
		To   []float64 `json:"kl_ref_f"`
		Rel  []float64
		DS   map[string]struct {
			Features []int32
			Score    []float64
			Rows     []int32   `json:"knn8_rows"`
			Distance []float64 `json:"knn8_dist"`
			Pred     string
		}
	}
}

// TestGolden follows an independent program from the scores of WDBC to the neighbours of five records.
//
//nolint:gocyclo // each figure of the reference program is compared
func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/golden.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g map[string]variant
	if err := json.NewDecoder(z).Decode(&g); err != nil {
		t.Fatal(err)
	}
	columns, class := wdbc(t)
	n := len(class)
	counts := make([]float64, 2)
	for _, y := range class {
		counts[y]++
	}
	p := gp.Params{Length: .1, Signal: .2, Noise: .05}
	rho := correlations(columns)
	for name, loo := range map[string]bool{"variant_location": false, "variant_loo": true} {
		v := g[name]
		if len(v.Features) != 30 || len(v.Records) != 5 {
			t.Fatal("golden.json.gz is short")
		}
		near := func(what string, got, want, tolerance float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
				t.Errorf("%s: %s is %.12g, want %.12g", name, what, got, want)
			}
		}
		near("neutral", Hit.Neutral(counts), v.Params.Neutral, 1e-12)
		for _, j := range []int{0, 7} {
			for k, w := range v.Pearson[strconv.Itoa(j)] {
				near("correlation", float64(rho.of(j, k)), w, 1e-6)
			}
		}
		mean, variance := make([][]float64, 30), make([][]float64, 30)
		scaled := make([][]float64, 30)
		for j, w := range v.Features {
			u := make([]float64, n)
			for i, x := range columns[j] {
				u[i] = (x - w.Min) / (w.Max - w.Min)
			}
			scaled[j] = u
			mass, _ := masses(u, class, 2, .05, loo)
			out, _ := masses(u, class, 2, .05, true)
			averaged := make([]float64, n)
			var sumAvg, sumRec float64
			for i := range u {
				averaged[i] = Hit.Location(mass[2*i:2*i+2], counts)
				sumAvg += averaged[i]
				sumRec += Hit.Record(out[2*i:2*i+2], counts, class[i])
			}
			near("mean averaged score", sumAvg/float64(n), w.MeanAvg, 1e-9)
			near("mean record score", sumRec/float64(n), w.MeanRec, 1e-9)
			for k, r := range v.Records {
				i := r.Row
				near("averaged score", averaged[i], w.Averaged[k], 1e-9)
				near("record score", Hit.Record(out[2*i:2*i+2], counts, class[i]), w.Record[k], 1e-9)
				near("balanced score", Balanced.Record(out[2*i:2*i+2], counts, class[i]), w.BalRecord[k], 1e-9)
			}
			// The choice, where no tie is narrower than rounding, and the observations of the curve.
			var pool []gp.Observation
			for k, i := range w.Rows {
				near("observation", averaged[i], w.Y[k], 1e-9)
				pool = append(pool, gp.Observation{X: u[i], Y: w.Y[k]})
			}
			r, err := gp.New(p, v.Params.Neutral, pool)
			if err != nil {
				t.Fatal(err)
			}
			mean[j], variance[j] = make([]float64, n), make([]float64, n)
			for i := range u {
				mean[j][i], variance[j][i] = r.At(u[i])
			}
			for k, rec := range v.Records {
				near("mean", mean[j][rec.Row], w.Mu[k], 1e-9)
				near("variance", variance[j][rec.Row], w.Var[k], 1e-9)
			}
			distinct := slices.Clone(u)
			slices.Sort(distinct)
			distinct = slices.Compact(distinct)
			pivots := gp.NewPivots(p, v.Params.Neutral, 1e-12/.04, distinct)
			differ := 0
			for k, i := range w.Rows {
				at, _ := pivots.Next()
				want, _ := slices.BinarySearch(distinct, u[i])
				if at != want {
					differ++
				}
				pivots.Observe(want, w.Y[k], 0)
			}
			if differ > 1 {
				t.Errorf("%s: feature %d: %d of 30 choices differ", name, j, differ)
			}
		}
		s := &structure{neighbours: 8, base: make([]float64, 2), features: make([]feature, 30)}
		s.prototypes.class = class
		for j := range columns {
			c := column{}
			for _, x := range columns[j] {
				c.mean += x / float64(n)
			}
			for _, x := range columns[j] {
				c.sd += (x - c.mean) * (x - c.mean) / float64(n)
			}
			c.sd = math.Sqrt(c.sd)
			at := make([]int32, n)
			for i, x := range columns[j] {
				at[i] = c.place(x)
			}
			c.set(at)
			s.prototypes.columns = append(s.prototypes.columns, c)
		}
		w := newScratch(s)
		for _, r := range v.Records {
			from, to := make([]float64, 30), make([]float64, 30)
			for j := range columns {
				from[j] = FromReference.of(mean[j][r.Row], variance[j][r.Row], reference{0, .05})
				to[j] = ToReference.of(mean[j][r.Row], variance[j][r.Row], reference{0, .05})
				near("KL from the reference", from[j], r.From[j], 1e-6)
				near("KL to the reference", to[j], r.To[j], 1e-6)
			}
			for key, want := range r.DS {
				how := Mean
				if strings.HasPrefix(key, "max") {
					how = Max
				}
				theta, err := strconv.ParseFloat(key[strings.Index(key, "theta")+5:], 64)
				if err != nil {
					t.Fatal(err)
				}
				features, scores := greedy(from, rho, theta, how, w.penalty, w.rel, nil, nil)
				if !slices.Equal(features, want.Features) {
					t.Errorf("%s: record %d, %s: features %v, want %v", name, r.Row, key, features, want.Features)
					continue
				}
				for k := range scores {
					near("score of a feature", float64(scores[k]), want.Score[k], 1e-6)
				}
				w.terms = w.terms[:0]
				for _, j := range features {
					c := &s.prototypes.columns[j]
					w.terms = append(w.terms, queryTerm{at: c.at, q: c.at[r.Row], cap: noCap, weight: 1})
				}
				sum := w.sum[:w.prototypes]
				distances(w.terms, sum)
				sum[r.Row] = beyond
				k := nearest(sum, w.near)
				for i, x := range w.near[:k] {
					// Values are rounded to 1/16384 of a standard deviation.
					slack := math.Sqrt(float64(len(features))) / unit
					if d := math.Sqrt(float64(x.distance)) / unit; math.Abs(d-want.Distance[i]) > slack {
						t.Errorf("%s: record %d, %s: neighbour %d at %v, want %v", name, r.Row, key, i, d, want.Distance[i])
					}
					if x.index != want.Rows[i] {
						t.Errorf("%s: record %d, %s: neighbour %d is %d, want %d", name, r.Row, key, i, x.index, want.Rows[i])
					}
				}
				vote(w.near[:k], w.ties, class, false, w.votes, w.far)
				if pred := string("BM"[w.best()]); pred != want.Pred {
					t.Errorf("%s: record %d, %s: class %s, want %s", name, r.Row, key, pred, want.Pred)
				}
			}
		}
	}
}
