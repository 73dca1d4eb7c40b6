package records

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/propensity"
)

// TestGatheredRecordsHaveTheirNumberInTheEvidence, which has no record without a class and none of weight 0.
func TestGatheredRecordsHaveTheirNumberInTheEvidence(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	spec := &model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s)}
	path := filepath.Join(t.TempDir(), "data.csv")
	const data = "x,w,y\n0,1,no\n1,0,yes\n2,2,yes\n3,1,\n4,0,\n5,1,no\n6,0,no\n7,.5,yes\n"
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	builder, rows := model.NewBuilder(spec), map[int32]int64{}
	n, err := Gather(t.Context(), cli.New(nil, io.Discard, io.Discard), []string{path},
		file.Options{Codec: codec.Options{Schema: s, Label: "y", Weight: "w", Missing: []string{""}}}, builder, nil,
		func(row int64, _, index int32) {
			if index >= 0 {
				rows[index] = row
			}
		})
	if err != nil || n != 8 || len(rows) != builder.Len() {
		t.Fatalf("%d records, %d of them are given a number, the evidence has %d, %v", n, len(rows), builder.Len(), err)
	}
	for index, row := range rows {
		if x := builder.Evidence().Columns[0][index]; x != float64(row) {
			t.Errorf("record %d is given the number %d in the evidence, which is of record %v", row, index, x)
		}
	}
}
