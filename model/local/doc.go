// Package local finds which features matter for one record: a curve per feature of how well its value tells the classes
// apart, learnt by a Gaussian process from local scores; per record the features whose local Gaussian diverges most
// from one that tells nothing, less what they repeat of each other; and the nearest prototypes in that subspace, whose
// class shares are an input of the scorecard (Pichara and Soto, Intelligent Data Analysis 18(3), 2014; METHOD.md). The
// subspace that a score publishes is another: subspace.go says what is in it, and how that is tested.
//
// Notation: M_c(x) = sum of kappa((x - x_k) / h) over the records k of class c, with kappa(u) = exp(-u^2/2) and values
// in units of their range; Gamma = sum_c M_c; P_c = M_c / Gamma, the share of class c around x; p_c = n_c / n.
package local
