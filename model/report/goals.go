package report

// Goal has the figures of a goal, a further outcome of two classes beside the label.
type Goal struct {
	Goal    string   `json:"goal"`    // its column
	Classes []string `json:"classes"` // the class that its propensities are of is the last one
	// Records is the number of records of the fit that tell the goal, and BaseRate the weighted share of its last class
	// among them; both are absent where the records are not at hand.
	Records  int    `json:"records,omitempty"`
	BaseRate Number `json:"base_rate,omitempty"`
	// Fitted says that the model has a structure for it. Without one its propensities are base rates.
	Fitted bool `json:"fitted"`
	// Sets are the feature sets that its scorecard has as inputs, with the counts and the lifts of its classes.
	Sets []Set `json:"sets"`
	// Features are the features alone; absent where the records are not at hand.
	Features []Feature `json:"features,omitempty"`
	// Importance is that of the features for the goal, as Report.Importance for the label.
	Importance []Importance `json:"importance,omitempty"`
}
