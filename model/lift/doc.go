// Package lift counts the classes of labelled records by the cells of feature sets, and finds the sets, windows and
// profiles in which a class is over- or under-represented: the Local Lift Dependence Scale of Marcondes, Simonis and
// Barrera (Entropy 20(2), 97, 2018). METHOD.md has the formulas, FORMAT.md the bytes.
//
// # Where to begin
//
// [New] makes the [Factory] of a schema. [Factory.Fit] searches the evidence (Algorithms 1, 2 and 3) and returns a
// [Part] as bytes; [DecodePart] reads them and [Part.Report] fills a report. A [Component] takes a part over and counts
// the labelled records of its partition from then on; [Component.Live] returns its counts.
//
// A [Set] gives each record a cell, a [Table] counts the classes by cell, and a [Summary] computes the measures of a
// table: eta, lifts and their intervals. A part also holds each [Window] and [Profile] that was found, and the
// [Entered] sets, which feed the scorecard. [Mine] and [CountProfiles] are Algorithm 3 alone.
//
// # Notation
//
// A record falls into one cell x of a feature set; n_xy is the weight of the records of class y in cell x, n_x, n_y and
// n its sums. f = n_xy/n, g = n_x/n, h = n_y/n. A record that lacks a value of any feature of a set is not in the table
// of that set, so n and n_y are those of the set's complete cases.
//
// # Chance
//
// The figures of a profile account for chance in these ways:
//
//   - The search and the order of the list see the older part of the evidence alone, four fifths by default. The
//     validated lift, its interval and the p-value of the profiles shown are measured on the newest fifth.
//   - The intervals hold at 95 % for all profiles shown at once (Bonferroni), so that they stay true of one that is
//     picked out of the list for its figures.
//   - The q-values are Benjamini and Hochberg's over the same profiles. Of fits to noise at most one in twenty shows a
//     profile of .05 or less, and only such profiles are in scores.
//   - Records of the newest fifth count for less where the class comes in runs there (clustering), so that a rate that
//     drifts while the profile comes and goes confirms little. A drift that begins later is not foreseen.
//
// None of it is corrected for fitting again and again: a stage that re-fits 500 times on noise will show, at some
// moment, a profile that looks like a discovery.
//
// Sets and windows are searched among all of the evidence. They are ranked by eta on records left out of the counts
// (EtaLeaveOneOut), so that many cells are no advantage; ByEta ranks as the paper does. The intervals of windows hold
// for the windows of all sets tried at once. The interval of a lift in a cell of a set is of that cell and class by
// itself: a report holds thousands, of which one in twenty misses. The tables of monitored sets never forget; the
// half-lives of the scorecard do not apply to them.
//
// # Cut points
//
// Cut points are quantiles of the evidence. From files that is every record, and they are exact. Live it is the newest
// records of each partition and, of the older ones, those of the smallest hashes, a sketch that merges over partitions.
// The rank of a cut is then off by at most sqrt(ln(2/delta)/(2n)) with probability 1-delta for n kept records, the
// inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant: .0076 with the default of 65,536 and delta =
// .001, less the share of the newest records, which are all there (model.Evidence.RankError).
//
// Cuts stay as they are while the cells keep about equal masses, so that counts carry over. The distance of such cuts
// from the quantiles of the present evidence is added to the bound of each set (PartSet.RankError).
package lift
