package factsheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// mostJSON bounds the files of ReadFit and ReadEvaluation.
const mostJSON = 256 << 20

// ReadFit reads the report that 'fit --report' wrote of a model. A report of other classes or features is refused.
func ReadFit(path string, m *model.Model) (*report.Report, error) {
	var r report.Report
	if err := readJSON(path, &r); err != nil {
		return nil, fmt.Errorf("reading the report of the fit: %s: %w; it must be a file that 'liftstream fit --report' "+
			"wrote", path, err)
	}
	if len(r.Sets) == 0 && len(r.Features) == 0 && len(r.BaseRates) == 0 && len(r.Classes) > 0 {
		return nil, fmt.Errorf("reading the report of the fit: %s: it has no figures of a fit; it must be a file that "+
			"'liftstream fit --report' wrote", path)
	}
	var names []string
	for _, f := range r.Features {
		names = append(names, f.Name)
	}
	names = append(names, featuresOf(r.Importance)...)
	for i := range r.Goals {
		names = append(names, featuresOf(r.Goals[i].Importance)...)
	}
	if err := belongs(m, r.Classes, names); err != nil {
		return nil, fmt.Errorf("reading the report of the fit: %s: %w; take the report of the fit that made the model",
			path, err)
	}
	return &r, nil
}

// featuresOf are the names of the features of importances.
func featuresOf(list []report.Importance) (names []string) {
	for i := range list {
		names = append(names, list[i].Feature)
	}
	return names
}

// ReadEvaluation reads the result that 'eval --json' wrote of the model's stage. A result of other classes or features
// is refused, and one of triples, which has no scores.
func ReadEvaluation(path string, m *model.Model) (*evaluate.Result, error) {
	var r evaluate.Result
	if err := readJSON(path, &r); err != nil {
		return nil, fmt.Errorf("reading the evaluation: %s: %w; it must be a file that 'liftstream eval --json' wrote", path,
			err)
	}
	if r.Protocol != "prequential" && r.Protocol != "folds" {
		return nil, fmt.Errorf("reading the evaluation: %s: it must be of the protocol prequential or folds, as 'liftstream "+
			"eval --json' writes it", path)
	}
	var names []string
	names = append(names, featuresOf(r.Importance)...)
	for i := range r.Goals {
		names = append(names, featuresOf(r.Goals[i].Importance)...)
	}
	if err := belongs(m, r.Classes, names); err != nil {
		return nil, fmt.Errorf("reading the evaluation: %s: %w; evaluate the configuration that the model was fitted with",
			path, err)
	}
	return &r, nil
}

func readJSON(path string, to any) error {
	f, err := os.Open(path)
	if err != nil {
		var access *os.PathError
		if errors.As(err, &access) {
			return access.Err
		}
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostJSON+1))
	switch {
	case err != nil:
		return err
	case len(b) == 0:
		return errors.New("it is empty")
	case len(b) > mostJSON:
		return fmt.Errorf("it is longer than %s", text.Bytes(mostJSON))
	}
	return json.Unmarshal(b, to)
}

// belongs compares classes and features with those of the model.
func belongs(m *model.Model, classes, features []string) error {
	s := m.Schema()
	if !slices.Equal(classes, s.Classes) {
		return fmt.Errorf("its classes are %s, those of the model %s", some(classes), some(s.Classes))
	}
	for _, name := range features {
		if !slices.ContainsFunc(s.Features, func(f model.Feature) bool { return f.Name == name }) {
			return fmt.Errorf("the model has no feature %q", visible(name))
		}
	}
	return nil
}

func some(classes []string) string {
	if len(classes) == 0 {
		return "none"
	}
	return text.Some(shown(classes), 6)
}
