package assemble

import (
	"fmt"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/report"
)

// Found writes the sections of the model's parts into a report as Stage.Sections does, without a configuration. A
// half-life in seconds (report.Local.HalfLifeSeconds) is in the configuration alone: it stays 0.
func Found(m *model.Model, r *report.Report) error {
	c, schema := config.Default(""), m.Schema()
	for _, x := range components {
		b, ok := m.Parts[x.name]
		if !ok {
			continue
		}
		reporter, able := x.factory(c, schema).(report.Reporter)
		if !able {
			continue
		}
		if err := reporter.Report(b, m.Levels, r); err != nil {
			return fmt.Errorf("reading the model's part %s: %w", x.name, err)
		}
	}
	return nil
}
