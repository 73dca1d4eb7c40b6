// Package lift counts the classes of labelled records by the cells of feature sets, and finds the sets, windows and
// profiles in which a class is over- or under-represented: the Local Lift Dependence Scale of Marcondes, Simonis and
// Barrera (Entropy 20(2), 2018), SPEC part B.
//
// Notation: a record falls into one cell x of a feature set; n_xy is the weight of the records of class y in cell x,
// n_x, n_y and n its sums. f = n_xy/n, g = n_x/n, h = n_y/n. A record that lacks a value of any feature of a set is not
// in the table of that set, so n and n_y are those of the set's complete cases.
package lift
