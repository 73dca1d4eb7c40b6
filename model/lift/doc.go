// Package lift counts the classes of labelled records by the cells of feature sets, and finds the sets, windows and
// profiles in which a class is over- or under-represented: the Local Lift Dependence Scale of Marcondes, Simonis and
// Barrera (Entropy 20(2), 2018), SPEC part B.
//
// Notation: a record falls into one cell x of a feature set; n_xy is the weight of the records of class y in cell x,
// n_x, n_y and n its sums. f = n_xy/n, g = n_x/n, h = n_y/n. A record that lacks a value of any feature of a set is not
// in the table of that set, so n and n_y are those of the set's complete cases.
//
// What is said of profiles is honest about chance in these ways. The search sees the older four fifths of the evidence;
// lift, interval and p-value of the profiles shown are measured again on the newest fifth, which it did not see, so that
// they need no correction for the size of the search. The q-values are Benjamini and Hochberg's over the p-values of all
// profiles shown at one fit: of fits to noise at most one in twenty shows a q-value of .05 or less. An interval is of one
// profile by itself. Neither is corrected for fitting again and again: a stage that re-fits 500 times on noise will show,
// at some moment, a profile that looks like a discovery.
//
// Cut points are quantiles of the evidence. From files that is every record, and they are exact. Live it is the newest
// records of each partition and, of the older ones, those of the smallest hashes, a sketch that merges over partitions:
// the rank of a cut is then off by at most sqrt(ln(2/delta)/(2n)) with probability 1-delta for n kept records, the
// inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant: .0076 with the default of 65,536 and
// delta = .001, less the share of the newest records, which are all there (model.Evidence.RankError). Cuts stay as they are
// while the cells keep about equal masses, so that counts carry over; how far they are off then is added to the bound that
// each model states of its sets (PartSet.RankError).
package lift
