// Package local finds which features matter for one record. Per feature a Gaussian process learns, from local scores, a
// curve of how well a value tells the classes apart. Paper A selects for a record the features whose local Gaussian
// diverges most from the Gaussian of an uninformative feature, less their redundancy with each other (Pichara and Soto,
// Intelligent Data Analysis 18(3), 2014; METHOD.md). The class shares of the nearest prototypes are an input of the
// scorecard. A score publishes another subspace: subspace.go defines it and its test.
//
// Begin with Factory, whose Fit makes the Part of a model, and with Component, which serves it: Inputs for the
// scorecard, Select for the published subspace, Explain for a report on one record. fit.go and auto.go learn,
// structure.go holds the result, neighbours.go finds the nearest prototypes by the terms of distance.go, and part.go
// reads and writes it all (FORMAT.md).
//
// Notation: M_c(x) = sum of kappa((x - x_k) / h) over the records k of class c, with kappa(u) = exp(-u^2/2) and values
// in units of their range; Gamma = sum_c M_c; P_c = M_c / Gamma, the share of class c around x; p_c = n_c / n.
package local
