package config

import (
	"errors"
	"strconv"
	"strings"
)

// Percent is a share that is written as a percentage, as in 95%, or off.
type Percent float64

// String writes the percentage.
func (p Percent) String() string {
	if p == 0 {
		return "off"
	}
	return strconv.FormatFloat(float64(p)*100, 'g', 10, 64) + "%"
}

func (p *Percent) setText(t string) error {
	if t == "off" {
		*p = 0
		return nil
	}
	number, is := strings.CutSuffix(t, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !is || err != nil || !(v >= leastPercent && v <= mostPercent) || strings.ContainsAny(number, "xX_") {
		return errors.New("must be off or a percentage from 50% to 99%, such as 95%")
	}
	*p = Percent(v / 100)
	return nil
}

const leastPercent, mostPercent = 50, 99

// intervalColumns are the columns that scores have only under output.interval. A class of one of these names, without
// the beginning propensity_, would have a column of the same name.
var intervalColumns = []string{"propensity_low", "propensity_high"}

// checkInterval refuses classes whose propensities would have the names of the columns of the interval.
func checkInterval(d checker, c *Config) {
	if c.Output.Interval == 0 {
		return
	}
	for i, class := range c.Record.Label.Classes {
		if c.reserved("propensity_" + class) {
			p := elementPath("record.label.classes", i)
			d.report(p, "", "output.interval has a column propensity_%s, and so has class %s: rename the class", class,
				d.quote(p, class))
		}
	}
}
