package config

import (
	"errors"
	"strconv"
	"strings"
)

// FewPercent is a small share that is written as a percentage, as in 1%, or off.
type FewPercent float64

// String writes the percentage.
func (p FewPercent) String() string { return Percent(p).String() }

func (p *FewPercent) setText(t string) error {
	if t == "off" {
		*p = 0
		return nil
	}
	number, is := strings.CutSuffix(t, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !is || err != nil || !(v >= leastFew && v <= mostFew) || strings.ContainsAny(number, "xX_") {
		return errors.New("must be off or a percentage from 0.01% to 10%, such as 1%")
	}
	*p = FewPercent(v / 100)
	return nil
}

const leastFew, mostFew = .01, 10

// unusualColumns are the columns that scores have only under output.unusual.
var unusualColumns = []string{"unusual"}
