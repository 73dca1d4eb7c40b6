package assemble

import (
	"errors"
	"fmt"
	"os"

	"liftstream/model"
)

// ReadModel reads a model file under the schema of the configuration, or its own when schema is nil.
func ReadModel(path string, schema *model.Schema) (*model.Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading model: %w", err)
	}
	m, err := model.DecodeModel(schema, b)
	if err != nil {
		return nil, Foreign(path, err)
	}
	return m, nil
}

// Foreign adds the place and the remedy to an error of reading or taking a model.
func Foreign(path string, err error) error {
	if errors.Is(err, model.ErrModelForeign) {
		return fmt.Errorf("%s does not belong to the configuration: %w; "+
			"fit it again with 'liftstream fit -c FILE DATA... --model %s', or take the configuration that it was fitted with "+
			"(record, derive, propensity, lift, local, kernel, trees, drift, dedup, memory.recency and fit.seed count)",
			path, err, path)
	}
	return fmt.Errorf("%s: %w; it must be a file that 'liftstream fit --model' wrote", path, err)
}
