package config

import "slices"

// Control is the share of the records that users leave untargeted, so that others can be compared with them. Scores say
// which records it holds, in the column control. A change of share, by or seed changes no state; learn and uplift hold
// from then on.
type Control struct {
	// Share is that of the ids, or of the records. Default 0.05. A larger share holds all of a smaller one.
	Share float64 `yaml:"share"`
	// By says which records are drawn together. Default id, those of one record.id, which the section then needs.
	By ControlBy `yaml:"by"`
	// Seed draws another share. Default 1. Stages with one seed draw the same ids.
	Seed int64 `yaml:"seed"`
	// Treated is the column that says whether a record was treated before its outcome: true, false, 1 or 0. It stands
	// beside the label, in events and labels. Default none: nothing says so.
	Treated string `yaml:"treated,omitempty"`
	// Learn says from which records is learnt where the treatment changes the outcome. Default all.
	Learn ControlLearn `yaml:"learn"`
	// Uplift on estimates the effect of the treatment on the chance of the positive class, by itself in each partition, in
	// the columns uplift, uplift_low and uplift_high of the scores. Experimental. Default off.
	Uplift ControlUplift `yaml:"uplift"`
}

// ControlUplift says whether the effect of the treatment is estimated.
type ControlUplift string

const (
	ControlUpliftOn  ControlUplift = "on"
	ControlUpliftOff ControlUplift = "off"
)

func (ControlUplift) choices() []string { return []string{"on", "off"} }

func (c *Control) setDefaults() {
	*c = Control{Share: 0.05, By: ControlByID, Seed: 1, Learn: ControlLearnAll, Uplift: ControlUpliftOff}
}

// ControlLearn says from which records is learnt.
type ControlLearn string

const (
	ControlLearnAll       ControlLearn = "all"       // each: scores foretell the outcome under the users' policy
	ControlLearnControl   ControlLearn = "control"   // those of the control share alone
	ControlLearnUntreated ControlLearn = "untreated" // untreated ones, by the inverse of the chance to be one
)

func (ControlLearn) choices() []string { return []string{"all", "control", "untreated"} }

// ControlBy says which records are in the control share together.
type ControlBy string

const (
	ControlByID     ControlBy = "id"     // all of an id
	ControlByRecord ControlBy = "record" // each by its position alone
)

func (ControlBy) choices() []string { return []string{"id", "record"} }

// controlColumns are the columns that scores have only where there is a control section.
var controlColumns = []string{"control", "uplift", "uplift_low", "uplift_high"}

// treated is the column of the treatment, empty without one.
func (c *Config) treated() string {
	if c.Control == nil {
		return ""
	}
	return c.Control.Treated
}

// reserved reports whether a name is that of a column of the scores.
func (c *Config) reserved(name string) bool {
	return slices.Contains(outputColumns, name) || c.Control != nil && slices.Contains(controlColumns, name) ||
		c.Output.Interval > 0 && slices.Contains(intervalColumns, name) ||
		c.Output.Unusual > 0 && slices.Contains(unusualColumns, name)
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
	if x.Uplift == ControlUpliftOn && !d.bad["control.uplift"] {
		const path = "control.uplift"
		switch {
		case x.Treated == "":
			d.report(path, "", "control.uplift needs control.treated, the column that says who was treated")
		case c.Record.Label.Positive == "":
			d.report(path, "", "control.uplift needs record.label.positive, the class whose chance the treatment changes")
		case x.Learn == ControlLearnControl:
			d.report(path, "", "control.uplift needs the records outside of the control share too: use learn: untreated")
		case c.Labels != nil && c.Labels.OnExpiry != OnExpiryDrop:
			d.report(path, "", "control.uplift goes with labels.on_expiry drop alone: nothing says whether a record without "+
				"a label was treated")
		}
	}
	if x.Learn == ControlLearnUntreated && !d.bad["control.learn"] {
		const path = "control.learn"
		switch {
		case x.Treated == "":
			d.report(path, "", "control.learn untreated needs control.treated, the column that says who was treated")
		case c.Record.Label.Positive == "":
			d.report(path, "", "control.learn untreated needs record.label.positive, the class by which users treat records")
		case c.Labels != nil && c.Labels.OnExpiry != OnExpiryDrop:
			d.report(path, "", "control.learn untreated goes with labels.on_expiry drop alone: nothing says whether a record "+
				"without a label was treated; learn: control does with any")
		}
	}
}
