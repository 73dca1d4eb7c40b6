package show

import (
	"fmt"
	"io"
	"math"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// TriplesResult is the answer of the protocol triples.
type TriplesResult struct {
	Protocol string                    `json:"protocol"`
	Records  int                       `json:"records"`
	Labelled int                       `json:"labelled"`
	Classes  []string                  `json:"classes"`
	Features int                       `json:"features"` // that may be used
	Triples  string                    `json:"triples"`  // the file that they are from, or "drawn"
	Methods  map[string]*TripleMetrics `json:"methods"`
	Splits   []TripleSplit             `json:"splits"`
}

// TripleMetrics tells how well one method finds held-out triples: means over the folds with their standard errors. Both
// asks for the pair to be more alike than either is to the third record (chance 1/3), single for the first record's
// view of it (chance 1/2).
type TripleMetrics struct {
	Both          evaluate.Number `json:"both"`
	BothError     evaluate.Number `json:"both_error"`
	Single        evaluate.Number `json:"single"`
	SingleError   evaluate.Number `json:"single_error"`
	Features      evaluate.Number `json:"features"` // with a weight above .01
	FeaturesError evaluate.Number `json:"features_error"`
	Used          []UsedFeature   `json:"used"`
}

// TripleSplit is one fold.
type TripleSplit struct {
	Fold         string                  `json:"fold"`
	Train        int                     `json:"train"`
	Test         int                     `json:"test"`
	TrainTriples int                     `json:"train_triples"`
	TestTriples  int                     `json:"test_triples"`
	Methods      map[string]*TripleTrial `json:"methods"`
}

// TripleTrial is one method on one fold.
type TripleTrial struct {
	Both     evaluate.Number `json:"both"`
	Single   evaluate.Number `json:"single"`
	Train    evaluate.Number `json:"train_both"`
	Features int             `json:"features"`
	Gamma1   evaluate.Number `json:"gamma1"`
	Gamma2   evaluate.Number `json:"gamma2"`
	Value    evaluate.Number `json:"objective"`
	Bound    evaluate.Number `json:"bound"`
}

// UsedFeature is a feature in a result, with the number of splits in which it was used.
type UsedFeature struct {
	Feature string `json:"feature"`
	Splits  int    `json:"splits"`
}

// Triples prints the result of the protocol triples on the files data, the given methods side by side.
func Triples(w io.Writer, data, methods []string, r *TriplesResult) error {
	fmt.Fprintf(w, "triples of %s: %s, %d labelled, %s", text.Joined(data), text.Count(r.Records, "record"), r.Labelled,
		text.Count(len(r.Splits), "fold"))
	if r.Triples != "drawn" {
		fmt.Fprintf(w, ", triples of %s", r.Triples)
	}
	fmt.Fprint(w, "\n\n")
	heading := []string{""}
	both, single, features := []string{"both views"}, []string{"first view"},
		[]string{fmt.Sprintf("features of %d", r.Features)}
	pair := func(v, e evaluate.Number, n int) string {
		if math.IsNaN(float64(e)) {
			return text.Decimals(v, n)
		}
		return text.Decimals(v, n) + " +- " + text.Decimals(e, n)
	}
	for _, name := range methods {
		m := r.Methods[name]
		heading = append(heading, " "+name)
		both = append(both, pair(m.Both, m.BothError, 3))
		single = append(single, pair(m.Single, m.SingleError, 3))
		features = append(features, pair(m.Features, m.FeaturesError, 1))
	}
	if err := text.Table(w, "", heading, [][]string{both, single, features}); err != nil {
		return err
	}
	if m := r.Methods["kernel"]; m != nil {
		var list []string
		for _, u := range m.Used {
			list = append(list, fmt.Sprintf("%s (%d)", u.Feature, u.Splits))
		}
		if len(list) == 0 {
			list = []string{"none"}
		}
		fmt.Fprintf(w, "\nFeatures that the kernel uses, in how many of the folds: %s\n", strings.Join(list, ", "))
	}
	_, err := fmt.Fprint(w, "\nBoth views: the share of held-out triples whose first two records are more alike than "+
		"either is to the third, guessing gives .333.\n")
	return err
}
