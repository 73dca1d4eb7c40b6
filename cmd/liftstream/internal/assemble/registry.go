package assemble

import (
	"fmt"

	"liftstream/codec"
	"liftstream/codec/registry"
	"liftstream/config"
)

// inputs are the encodings of events and labels; Arrow is the zero value.
var inputs = map[config.InputFormat]codec.Input{config.InputJSONL: codec.InputJSONL, config.InputJSON: codec.InputJSON,
	config.InputAvro: codec.InputAvro}

// newRegistry returns the registry of a configuration, nil where it has none.
func newRegistry(c *config.Registry) (*registry.Registry, error) {
	if c == nil {
		return nil, nil
	}
	r, err := registry.New(registry.Options{URL: c.URL, Username: c.Username, Password: c.Password.Reveal(),
		Token: c.Token.Reveal(), CA: c.CA})
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return r, nil
}
