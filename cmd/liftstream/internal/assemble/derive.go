package assemble

import (
	"fmt"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
)

// deriveFunctions are the functions of package codec by their names in a configuration.
var deriveFunctions = map[config.Function]codec.Function{
	"": codec.Source, config.FunctionHour: codec.Hour, config.FunctionWeekday: codec.Weekday,
	config.FunctionDay: codec.Day, config.FunctionMonth: codec.Month, config.FunctionAge: codec.Age,
	config.FunctionRatio: codec.Ratio, config.FunctionLog: codec.Log, config.FunctionBucket: codec.Bucket,
}

// derivations returns those of the derived features of a schema, which may be one that a state tells: the expressions
// are the schema's, and so are the special codes of the columns that it has; those of other columns are the
// configuration's. nil where no feature is derived; those of former records have none, see recent.
func derivations(c *config.Config, s *model.Schema) (map[string]codec.Derivation, error) {
	var all map[string]codec.Derivation
	special := map[string][]float64{}
	for i := range s.Features {
		f := &s.Features[i]
		if f.Derived == "" {
			continue
		}
		if all == nil {
			all = map[string]codec.Derivation{}
			for i := range c.Record.Features {
				special[c.Record.Features[i].Name] = c.Record.Features[i].Special
			}
			for i := range s.Features {
				special[s.Features[i].Name] = s.Features[i].Special
			}
		}
		d, err := config.ParseDerivation(f.Derived)
		if err != nil {
			return nil, fmt.Errorf("deriving feature %q: %w", f.Name, err)
		}
		if d.Recent() {
			continue
		}
		all[f.Name] = derivation(&d, special)
	}
	return all, nil
}

func derivation(d *config.Derivation, special map[string][]float64) codec.Derivation {
	out := codec.Derivation{Function: deriveFunctions[d.Function], Column: d.Column, Per: d.Per(), Zone: d.Zone,
		Cuts: d.Cuts, Special: special[d.Column]}
	for i := range d.Of {
		x := derivation(&d.Of[i], special)
		x.Unit = d.Unit.Std()
		out.Of = append(out.Of, x)
	}
	return out
}
