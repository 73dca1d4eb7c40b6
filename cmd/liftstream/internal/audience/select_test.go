package audience

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// someScores are scores of few ids, with ties of time and of propensity, some of them unknown or of the control share.
// They lie in their input in another order than their records.
func someScores(n int, seed uint64) []Score {
	scores := make([]Score, n)
	for i := range scores {
		h := model.Hash(seed, uint64(i))
		x := Score{ID: fmt.Sprintf("id-%d", h%uint64(n/3)), Record: Place{0, int64(i / 10), int32(i % 10)},
			At: Place{0, int64(n - i), 0}, Time: int64(h >> 20 % 50), Propensity: float64(h>>30%20) / 20}
		if h>>40%17 == 0 {
			x.Propensity = math.NaN()
		}
		x.Control = model.Hash(5, h%uint64(n/3))%9 == 0
		x.Untrained = h>>45%11 == 0
		scores[i] = x
	}
	return scores
}

// slow chooses by a map of texts and by sorting texts, without the code above.
func slow(scores []Score, share float64, control bool) (ids []string) {
	newest := map[string]Score{}
	for _, x := range scores {
		y, ok := newest[x.ID]
		later := x.Time > y.Time || x.Time == y.Time && (x.Record.Offset > y.Record.Offset ||
			x.Record.Offset == y.Record.Offset && x.Record.Row > y.Record.Row)
		if !ok || later {
			newest[x.ID] = x
		}
	}
	var texts []string
	for id, x := range newest {
		if (!x.Control || control) && !math.IsNaN(x.Propensity) && !x.Untrained {
			texts = append(texts, fmt.Sprintf("%.6f %x %s", 1-x.Propensity, sha256.Sum256([]byte(id)), id))
		}
	}
	sort.Strings(texts)
	for _, t := range texts[:int(share*float64(len(texts)))] {
		ids = append(ids, t[8+1+64+1:])
	}
	return ids
}

func chosen(t *testing.T, scores []Score, c Cut, control bool) (ids []string, s Summary) {
	t.Helper()
	of := map[Place]string{}
	x := Selection{Most: len(scores), Together: true}
	for i := range scores {
		of[scores[i].At] = scores[i].ID
		if err := x.Add(&scores[i]); err != nil {
			t.Fatal(err)
		}
	}
	members, s := x.Choose(c, With{Control: control})
	for _, m := range members {
		ids = append(ids, of[m.At])
	}
	return ids, s
}

func TestChoiceAgainstASlowProgram(t *testing.T) {
	for seed := range uint64(5) {
		scores := someScores(3000, seed)
		for _, share := range []float64{.1, .25, 1} {
			for _, control := range []bool{false, true} {
				want := slow(scores, share, control)
				got, s := chosen(t, scores, Cut{Share: share}, control)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, share %v, control %v: got %d ids, want %d, or in another order", seed, share, control,
						len(got), len(want))
				}
				if s.N != len(want) || s.IDs != s.Choice+s.Control+s.Unknown+s.Untrained || s.Scores != 3000 ||
					control == (s.Control > 0) {
					t.Errorf("seed %d: %+v", seed, s)
				}
				slices.Reverse(scores)
				if again, _ := chosen(t, scores, Cut{Share: share}, control); !slices.Equal(again, want) {
					t.Errorf("seed %d: the order of arrival changes the audience", seed)
				}
				slices.Reverse(scores)
			}
		}
	}
}

// TestASharePicksWholeMembers: a percentage that is a whole number of members takes all of them, though the product of
// two doubles may lie below.
func TestASharePicksWholeMembers(t *testing.T) {
	for _, n := range []int{100, 200, 700} {
		scores := make([]Score, n)
		for i := range scores {
			scores[i] = Score{ID: fmt.Sprint(i), At: Place{Offset: int64(i)}, Propensity: float64(i) / float64(n)}
		}
		for percent := 1; percent <= 100; percent++ {
			if _, s := chosen(t, scores, Cut{Share: float64(percent) / 100}, false); s.N != percent*n/100 {
				t.Errorf("%d %% of %d are %d", percent, n, s.N)
			}
		}
	}
}

// TestCuts: six ids of the propensities .9, .5, .5, .5, .1, 0.
func TestCuts(t *testing.T) {
	scores := make([]Score, 6)
	for i, p := range []float64{.1, .5, .9, .5, 0, .5} {
		scores[i] = Score{ID: fmt.Sprint(i), At: Place{Offset: int64(i)}, Propensity: p}
	}
	least := func(p float64) *float64 { return &p }
	for _, c := range []struct {
		name    string
		cut     Cut
		n, tied int
		hits    float64
	}{
		{"everybody", Cut{}, 6, 0, 2.5},
		{"top 2", Cut{Top: 2}, 2, 2, 1.4},
		{"top beyond all", Cut{Top: 100}, 6, 0, 2.5},
		{"a third", Cut{Share: 1. / 3}, 2, 2, 1.4},
		{"rounded down", Cut{Share: .6}, 3, 1, 1.9},
		{"at least one", Cut{Share: .01}, 1, 0, .9},
		{"from the very propensity on", Cut{Least: least(.5)}, 4, 0, 2.4},
		{"nobody", Cut{Least: least(.95)}, 0, 0, 0},
		{"least of 0", Cut{Least: least(0)}, 6, 0, 2.5},
		{"a contact that just pays", Cut{Value: &evaluate.Value{Hit: 40, Contact: 20}}, 4, 0, 2.4},
		{"a contact that does not", Cut{Value: &evaluate.Value{Hit: 40, Contact: 20.5}}, 1, 0, .9},
		{"contacts for nothing", Cut{Value: &evaluate.Value{Hit: 40}}, 6, 0, 2.5},
		{"a contact that costs a hit", Cut{Value: &evaluate.Value{Hit: 1, Contact: 1}}, 0, 0, 0},
	} {
		_, s := chosen(t, scores, c.cut, false)
		if s.N != c.n || s.Tied != c.tied || math.Abs(s.Hits-c.hits) > 1e-12 {
			t.Errorf("%s: %+v, want %d members, %d tied, %v hits", c.name, s, c.n, c.tied, c.hits)
		}
		if s.N > 0 && math.Abs(s.Lift-c.hits/float64(c.n)/(2.5/6)) > 1e-12 {
			t.Errorf("%s: lift %v", c.name, s.Lift)
		}
		got, want := s.Profit(evaluate.Value{Hit: 40, Contact: 1.5}), 40*c.hits-1.5*float64(c.n)
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: profit %v, want %v", c.name, got, want)
		}
	}
}

func TestScoresThatStandForThemselves(t *testing.T) {
	s := Selection{Most: 3}
	for i := range 3 {
		if err := s.Add(&Score{ID: "one", At: Place{Offset: int64(i)}, Propensity: .5}); err != nil {
			t.Fatal(err)
		}
	}
	var many *TooManyError
	if err := s.Add(&Score{ID: "one"}); !errors.As(err, &many) || many.Most != 3 {
		t.Errorf("got %v", err)
	}
	if members, _ := s.Choose(Cut{}, With{}); len(members) != 3 || members[0].At.Offset != 0 || members[2].At.Offset != 2 {
		t.Errorf("members %v", members)
	}
}

// TestTheBoundCountsIDs and no scores: an id has one entry however often it is scored.
func TestTheBoundCountsIDs(t *testing.T) {
	s := Selection{Most: 2, Together: true}
	for i := range 1000 {
		if err := s.Add(&Score{ID: fmt.Sprint(i % 2), At: Place{Offset: int64(i)}, Propensity: .5}); err != nil {
			t.Fatal(err)
		}
	}
	var many *TooManyError
	if err := s.Add(&Score{ID: "third"}); !errors.As(err, &many) {
		t.Errorf("got %v", err)
	}
}

func TestNobody(t *testing.T) {
	members, s := (&Selection{Most: 1}).Choose(Cut{Share: .1}, With{})
	if len(members) != 0 || s.N != 0 || !math.IsNaN(s.Last) || !math.IsNaN(s.Lift) {
		t.Errorf("%v %+v", members, s)
	}
}
