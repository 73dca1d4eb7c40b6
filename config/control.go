package config

import "slices"

// Control is the share of the records that users leave untargeted, so that others can be compared with them. Scores say
// which records it holds, in the column control. Changing it changes no state.
type Control struct {
	// Share is that of the ids, or of the records. Default 0.05. A larger share holds all of a smaller one.
	Share float64 `yaml:"share"`
	// By says which records are drawn together. Default id, those of one record.id, which the section then needs.
	By ControlBy `yaml:"by"`
	// Seed draws another share. Default 1. Stages with one seed draw the same ids.
	Seed int64 `yaml:"seed"`
}

func (c *Control) setDefaults() { *c = Control{Share: 0.05, By: ControlByID, Seed: 1} }

// ControlBy says which records are in the control share together.
type ControlBy string

const (
	ControlByID     ControlBy = "id"     // all of an id
	ControlByRecord ControlBy = "record" // each by its position alone
)

func (ControlBy) choices() []string { return []string{"id", "record"} }

// controlColumns are the columns that scores have only where there is a control section.
var controlColumns = []string{"control"}

// reserved reports whether a name is that of a column of the scores.
func (c *Config) reserved(name string) bool {
	return slices.Contains(outputColumns, name) || c.Control != nil && slices.Contains(controlColumns, name)
}

// checkControl holds the section against the record.
func checkControl(d checker, c *Config) {
	x := c.Control
	if x == nil {
		return
	}
	if x.By == ControlByID && c.Record.ID == "" && !d.bad["record.id"] && !d.bad["control.by"] {
		d.report("control", "", "control by id needs record.id, the column of who is left untargeted; or draw by: record")
	}
}
