package report

// Importance is how much a feature contributes to the scores of some records: of eval the newest 10,000, each scored
// before it was learnt, of a goal fewer where features and goals are many; of a fit 2,000 of its own records, drawn at
// random, or the newest ones as of its end.
type Importance struct {
	Feature string `json:"feature"`
	// Effect is the mean absolute contribution to the log-odds of the target, in nats.
	Effect Number `json:"mean_absolute_effect"`
	// Curve is the contribution by the feature's values: tenths of a continuous one in ascending order, the ten most
	// frequent levels of another one, the most frequent first; then special codes and missing values.
	Curve []EffectCell `json:"curve"`
}

// EffectCell is a cell of the values of a feature: mean and standard deviation of its contribution over N records.
type EffectCell struct {
	Cell   string `json:"cell"` // such as "20 to 31.5", a level, "-999 (special)" or "(missing)"
	N      int    `json:"n"`
	Effect Number `json:"effect"`
	SD     Number `json:"sd"`
}
