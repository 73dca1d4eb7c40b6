package config

// Points is the scale of an exported scorecard, as credit scores have it: an effect of e in the log-odds is
// e PDO / ln 2 points, and the whole is Base at odds of Odds to 1. It changes neither scores nor states.
type Points struct {
	// Base is the score at Odds. Default 600.
	Base float64 `yaml:"base"`
	// Odds are those of Base, of the class that the scorecard tells of against the other. Default 50.
	Odds float64 `yaml:"odds"`
	// PDO is the number of points that double the odds. Default 20.
	PDO float64 `yaml:"pdo"`
}

func (p *Points) setDefaults() { *p = Points{Base: 600, Odds: 50, PDO: 20} }
