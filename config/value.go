package config

// Value is the worth of the outcome, for audiences and the figures of profit in evaluations. It changes neither scores
// nor states.
type Value struct {
	// Hit is the worth of a record of the wanted class that is talked to, in any currency. Default 1: profit is counted in
	// hits.
	Hit float64 `yaml:"hit"`
	// Contact is the cost of talking to a record, in the same currency. Default 0. It is at most hit: beyond it nobody is
	// worth a contact.
	Contact float64 `yaml:"contact"`
}

func (v *Value) setDefaults() { *v = Value{Hit: 1} }

// dearest is the upper bound of both keys.
const dearest = 1e12

// checkValue holds the two against each other.
func checkValue(d checker, c *Config) {
	v := c.Value
	if v != nil && v.Hit > 0 && !d.bad["value.hit"] && v.Contact > v.Hit && v.Contact <= dearest {
		d.report("value.contact", "", "value.contact must be at most value.hit: nobody is worth a contact that costs more "+
			"than a hit brings")
	}
}
