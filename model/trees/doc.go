// Package trees boosts small regression trees on the residuals of an additive model, for outcomes that hang on
// thresholds and on features together (METHOD.md; Friedman 2001, Chen and Guestrin 2016). The sum of the trees is an
// input of the scorecard.
//
// Begin with Factory, whose Fit makes the Part of a model, and with Component, which serves it. A fit codes the records
// into bins (bins.go), fits the additive model (base.go), grows trees out of fold (grow.go, boost.go), and keeps them
// only where records that they have not seen are scored better (the gate, fit.go). tree.go has the trees as they serve,
// live.go the counts of their leaves, and part.go reads and writes it all (FORMAT.md).
package trees
