package assemble

import (
	"liftstream/config"
	"liftstream/model"
)

// recent are the features of a schema that tell of the former records of an id, nil where there are none. The schema
// may be one that a state tells: the expressions are the schema's. One that cannot be read is none, see derivations.
func recent(c *config.Config, s *model.Schema) *model.RecencyOptions {
	var o *model.RecencyOptions
	for i := range s.Features {
		f := &s.Features[i]
		if f.Derived == "" || f.Kind != model.Continuous {
			continue
		}
		d, err := config.ParseDerivation(f.Derived)
		if err != nil || !d.Recent() {
			continue
		}
		x := model.RecentFeature{Feature: i, Window: int64(d.Window), Where: -1}
		if d.Where != "" {
			if x.Where = s.Feature(d.Where); x.Where < 0 || s.Features[x.Where].Kind == model.Continuous {
				continue
			}
			x.Level = string(model.CanonicalText(nil, []byte(d.Level)))
		}
		if o == nil {
			o = &model.RecencyOptions{Bytes: int64(c.Memory.Recency)}
		}
		o.Features = append(o.Features, x)
	}
	return o
}
