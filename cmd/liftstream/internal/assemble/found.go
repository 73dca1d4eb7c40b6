package assemble

import (
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/report"
)

// Found writes the sections of the model's parts into a report as Stage.Sections does, without a configuration. A
// half-life in seconds (report.Local.HalfLifeSeconds) is in the configuration alone: it stays 0.
func Found(m *model.Model, r *report.Report) error {
	c, schema := config.Default(""), m.Schema()
	for _, x := range components {
		if err := section(x.factory(c, schema), m, r); err != nil {
			return err
		}
	}
	return nil
}
