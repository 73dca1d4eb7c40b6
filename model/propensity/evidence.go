package propensity

import "liftstream/model"

// evidence is the evidence of a Fit with the inputs of the components beside it.
type evidence struct {
	*model.Evidence
	model.Offer
	most int // records that the budget allows to train or to fit on; 0 = all
}

func joined(ev *model.Evidence, in *model.Offer) *evidence {
	e := &evidence{Evidence: ev}
	if in != nil {
		e.Offer = *in
	}
	return e
}
