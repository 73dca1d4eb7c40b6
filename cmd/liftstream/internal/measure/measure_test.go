package measure

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/evaluate"
)

// TestErrorsOfFoldsAreThoseOfAMean: the deviation has one degree of freedom fewer than there are folds.
func TestErrorsOfFoldsAreThoseOfAMean(t *testing.T) {
	mean, err := meanError([]float64{1, 2, 3, 4})
	if mean != 2.5 || math.Abs(float64(err)-math.Sqrt(5./3/4)) > 1e-12 {
		t.Errorf("%v +- %v", mean, err)
	}
	if mean, err = meanError([]float64{7}); mean != 7 || !math.IsNaN(float64(err)) {
		t.Errorf("of one fold: %v +- %v", mean, err)
	}
}

// TestTablesOfScoresAreOfOnePartitionAndModel: source_partition and model stand once for all rows of a table.
func TestTablesOfScoresAreOfOnePartitionAndModel(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "x"}}}
	var got []string
	o := codec.Options{Schema: s}
	rows, err := newScoreRows(o, nil, func(table *codec.Table) error {
		v, err := codec.NewScoreReader(table, s.Classes)
		if err != nil {
			return err
		}
		for i := range table.Rows() {
			partition, _, row := v.Place(i)
			version, _ := v.Int(codec.ScoreModel, i)
			got = append(got, fmt.Sprintf("%d of %d by %d", row, partition, version))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	batch := &model.Batch{N: 1, Time: []int64{0}}
	for i, x := range []struct {
		partition int32
		version   int64
	}{{0, 1}, {0, 1}, {1, 1}, {0, 1}, {0, 2}, {1, 2}} {
		scores := &model.Scores{}
		scores.Reset(1, 2)
		scores.Model = x.version
		err := rows.add(&evaluate.Record{Index: int64(i), Partition: x.partition, Batch: batch,
			Scores: []*model.Scores{scores}, Levels: []*model.Levels{model.NewLevels(s)}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d of %d by %d", i, x.partition, x.version))
	}
	if err := rows.flush(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoRecordOfAFoldTrains: a given triple with any record of the fold is one of its test, and the others train.
func TestNoRecordOfAFoldTrains(t *testing.T) {
	c := &comparison{Evaluation: &Evaluation{Triples: "t.csv"}, given: &records.Comparisons{},
		folds:   []int{0, 1, 1, 0, 1, 2},
		triples: [][3]int32{{0, 1, 2}, {1, 0, 2}, {1, 2, 3}, {1, 2, 4}, {4, 1, 5}}}
	for fold, want := range map[int]int{0: 3, 1: 5, 2: 1} { // triples of the test
		s, err := c.split(fold)
		if want == len(c.triples) {
			if err == nil {
				t.Errorf("fold %d: trained on %v", fold, s.TrainTriples)
			}
			continue
		}
		if err != nil || len(s.TestTriples) != want || len(s.TrainTriples) != len(c.triples)-want {
			t.Fatalf("fold %d: %+v, %v", fold, s, err)
		}
		for _, x := range s.TrainTriples {
			for _, i := range x {
				if c.folds[i] == fold {
					t.Errorf("fold %d: the training triple %v has record %d of it", fold, x, i)
				}
			}
		}
	}
}
