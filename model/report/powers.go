package report

import "liftstream/model"

// The optional powers of a model.Factory that has something to show; each is found by a type assertion.

// Reporter is a Factory with a section in the report of a fit.
type Reporter interface {
	// Report writes the section of a part. levels is that of the part's Model.
	Report(part []byte, levels *model.Levels, r *Report) error
}

// Summariser is a Factory that says the best of its section to people.
type Summariser interface {
	// Summary returns paragraphs about the section that Report wrote; none when there is no section.
	Summary(r *Report) []string
}

// Lister is a Factory whose parts have a short list of features.
type Lister interface {
	// ShortList returns the features of a part's list, the most important first.
	ShortList(part []byte) ([]int32, error)
}
