package describe

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"liftstream/model/evaluate"
)

// How well a feature tells the class does not make it a leak. Of votes, tumours or pictures many features rank the
// classes alone with an AUC above .9, and all others together do so too; a column that was filled in after the outcome
// stands alone. So a feature is a leak when
//
//   - it beats the others (beats): let the AUCs alone be A_1 >= A_2 >= ..., and R_k that of all features below the k-th
//     together. With a k such that A_k > LeakAUC and 1 - A_k <= leakError (1 - R_k), the first k are leaks: each of
//     them alone leaves far less wrong than everything below them. One k for all, as several leaks vouch for one
//     another. In a table of fewer than leakRecords records nothing is a leak for this: there a measured thing, such
//     as the petals of irises, is often as far ahead of two or three others, and the owner can look through the table;
//   - it is a copy of the class (copies): as many values as classes, and the class that a value stands for is right in
//     leakCopy of the records or more, with at most a tenth of the errors of the most frequent class;
//   - or to depart from its commonest value happens to records of one class (departs), or whether it is missing tells
//     the class (flagMissing).
//
// A copy of the class with so much noise that the other features together are as good is found by none of these:
// nothing in the table tells it from a good feature. And a good feature beside poor ones, which act neither with it nor
// in the middle, is taken for a leak.
//
// Together means naive Bayes: the classes are ranked by ln h_c + sum_f ln L_fc, with h the base rates and L_fc the
// lifts of the feature's cells (see alone), each half of the records by the counts of the other half, so that nothing
// is known by heart; R is the highest that the best 1, 2, 4, ... or all of the features reach so (reach). AUCs are
// those inside blocks of 1,000 consecutive records, so that neither side is paid for the base rates of its time; where
// blocks have one class each, those over all records.
const (
	// LeakAUC is the AUC inside blocks of 1,000 records above which a feature alone is looked at.
	LeakAUC = 0.85
	// leakError is the largest share of the error of the others, in AUC, that a leak leaves. Copies of the class with
	// 5 to 10 % of noise beside features that reach .75 to .84 leave .64 or less, the duration of bank's calls .24; of the
	// features of votes, wdbc, ionosphere, and river's ImageSegments and Phishing, one leaves .73, the others 1.1 or more.
	leakError = 0.65
	// leakRecords is the number of labelled records from which on a feature can be too good.
	leakRecords = 500
	// leakCopy is the share of records that a copy of the class has right.
	leakCopy = 0.985
	// sampleRecords bounds the records that are held to measure several features together, sampleCells their cells
	// in all columns.
	sampleRecords = 20_000
	sampleCells   = 8_000_000
)

// sample is the cells of blocks of records spread evenly over the table.
type sample struct {
	step  int64 // every step-th block is held
	seen  int64
	cells [][]int32 // by scorer
	class []int32
	odd   []bool // whether the record is counted among the second ones
}

// newSample is for labelled records of so many scorers.
func newSample(labelled int64, scorers int) *sample {
	blocks := max(1, min(sampleRecords, sampleCells/max(1, scorers))/evaluate.BlockRecords)
	all := (labelled + evaluate.BlockRecords - 1) / evaluate.BlockRecords
	return &sample{step: max(1, (all+int64(blocks)-1)/int64(blocks)), cells: make([][]int32, scorers)}
}

// next reports whether the next record is held, and notes its class and half if so.
func (s *sample) next(class int32, odd bool) bool {
	held := s.seen/evaluate.BlockRecords%s.step == 0
	s.seen++
	if held {
		s.class, s.odd = append(s.class, class), append(s.odd, odd)
	}
	return held
}

// logLifts are those of the cells, classes innermost, of the records counted in n: ln((n_c + 5 h_c) / (n + 5) / h_c).
func logLifts(n, h []float64) []float64 {
	k := len(h)
	out := make([]float64, len(n))
	for at := 0; at < len(n); at += k {
		var here float64
		for _, v := range n[at : at+k] {
			here += v
		}
		for c := range k {
			out[at+c] = math.Log((n[at+c] + leakPrior*h[c]) / (here + leakPrior) / h[c])
		}
	}
	return out
}

// together ranks the records of the sample by the sum of the scorers that were added.
type together struct {
	s   *sample
	h   []float64
	sum []float64 // record by record, classes innermost: ln h_c + sum of log-lifts
}

func (s *sample) together(h []float64) *together {
	t := &together{s: s, h: h, sum: make([]float64, 0, len(s.class)*len(h))}
	for range s.class {
		for _, v := range h {
			t.sum = append(t.sum, math.Log(v))
		}
	}
	return t
}

// add adds the score of each record by the scorer at place i of the sample, by the half that the record is not in.
func (t *together) add(i int, a *alone) {
	k := len(t.h)
	even := make([]float64, len(a.n))
	for j := range even {
		even[j] = a.n[j] - a.odd[j]
	}
	others := [2][]float64{logLifts(a.odd, t.h), logLifts(even, t.h)}
	for r, cell := range t.s.cells[i] {
		l := others[0]
		if t.s.odd[r] {
			l = others[1]
		}
		for c := range k {
			t.sum[r*k+c] += l[int(cell)*k+c]
		}
	}
}

// p writes the probabilities of the classes of record r.
func (t *together) p(r int, p []float64) {
	k := len(t.h)
	row := t.sum[r*k : (r+1)*k]
	top := slices.Max(row)
	var total float64
	for c, v := range row {
		p[c] = math.Exp(v - top)
		total += p[c]
	}
	for c := range p {
		p[c] = min(1, p[c]/total)
	}
}

// auc is the mean inside blocks, or over all records of the sample when no block has two classes.
func (t *together) auc() (float64, error) {
	set := evaluate.NewSet(len(t.h))
	p := make([]float64, len(t.h))
	for r, y := range t.s.class {
		t.p(r, p)
		if err := set.Add(int64(r), p, y, 1); err != nil {
			return 0, err
		}
	}
	if a := set.AUCBlocks(); !math.IsNaN(a) {
		return a, nil
	}
	return set.AUC(), nil
}

// measured is a feature with its scorer, the place of that in the sample, and its AUC alone over the sample.
type measured struct {
	col   *Column
	at    int
	score *alone
	auc   float64
}

// beats orders the features by their AUCs alone, best first, and finds how many of the first do better alone than all
// features below them together. below is the AUC of the features below together, for every feature above LeakAUC.
func (s *sample) beats(features []measured, h []float64) (leaks int, below []float64, err error) {
	for i := range features {
		f := &features[i]
		f.auc = f.col.alone()
		if f.auc > LeakAUC {
			t := s.together(h)
			t.add(f.at, f.score)
			if f.auc, err = t.auc(); err != nil {
				return 0, nil, err
			}
		}
	}
	slices.SortStableFunc(features, func(a, b measured) int { return cmp.Compare(b.auc, a.auc) })
	below = make([]float64, len(features))
	for k := len(features) - 1; k >= 0; k-- {
		if !(features[k].col.alone() > LeakAUC) {
			continue
		}
		if below[k], err = s.reach(features[k+1:], h); err != nil {
			return 0, nil, err
		}
		if leaks == 0 && 1-features[k].auc <= leakError*(1-below[k]) && len(s.class) >= leakRecords {
			leaks = k + 1
		}
	}
	return leaks, below, nil
}

// removeFarBetter takes out the features that beat the others, and notes at the good ones that stay in the AUC that the
// others reach.
func (d *Description) removeFarBetter(s *sample, features []measured, h []float64) error {
	leaks, below, err := s.beats(features, h)
	if err != nil {
		return err
	}
	for k, f := range features {
		switch {
		case !(f.col.alone() > LeakAUC):
		case k < leaks && f.score.between(len(h), f.col.AUC):
			f.col.Why = f.col.ranks() + ", one class between records of the other: it stays in, as a bound of a rule"
		case k < leaks:
			if with := s.tied(&f, features, h); with != "" {
				f.col.Why = fmt.Sprintf("%s, together with %s still better: it stays in, as what the outcome is made of",
					f.col.ranks(), with)
				continue
			}
			f.col.Role, f.col.Why = Leak, fmt.Sprintf("%s, the features below it together with %.2f: "+
				"is it known before the outcome?", f.col.ranks(), below[leaks-1])
			d.warn(f.col.Name, WarnLeak, "%s", f.col.Why)
		default:
			f.col.Why = fmt.Sprintf("%s, the features below it together with %.2f: it stays in", f.col.ranks(), below[k])
		}
	}
	return nil
}

// reach is the highest AUC of the first 1, 2, 4, ... of the features together and of all of them, best first; 1/2 of
// none. Among many features that say nothing, or the same, the sum of all is not the best that can be made of them.
func (s *sample) reach(features []measured, h []float64) (float64, error) {
	t := s.together(h)
	best := 0.5
	for i, f := range features {
		t.add(f.at, f.score)
		if n := i + 1; n&(n-1) != 0 && n < len(features) {
			continue
		}
		auc, err := t.auc()
		if err != nil {
			return 0, err
		}
		if auc > best {
			best = auc
		}
	}
	return best, nil
}

// ranks says how well the feature ranks the classes.
func (c *Column) ranks() string {
	if math.IsNaN(c.AUCBlocks) {
		return fmt.Sprintf("alone ranks the classes with an AUC of %.2f over all records", c.AUC)
	}
	text := fmt.Sprintf("alone ranks the classes with an AUC of %.2f inside blocks of 1,000 records", c.AUCBlocks)
	if !math.IsNaN(c.AUC) {
		text += fmt.Sprintf(" (%.2f pooled)", c.AUC)
	}
	return text
}

// alone is the AUC that counts: inside blocks, or over all records where these have one class each.
func (c *Column) alone() float64 {
	if math.IsNaN(c.AUCBlocks) {
		return c.AUC
	}
	return c.AUCBlocks
}

// copies flags a feature whose values stand for the classes one to one.
func (d *Description) copies(f measured, base []float64) {
	k := len(base)
	if f.col.Distinct != k {
		return
	}
	var all, right float64
	stands := make([]bool, k)
	for at := 0; at < len(f.score.n); at += k {
		n := f.score.n[at : at+k]
		c := 0
		for i, v := range n {
			all += v
			if v > n[c] {
				c = i
			}
		}
		if n[c] > 0 {
			right += n[c]
			stands[c] = true
		}
	}
	wrong := all - right
	if expected := all - slices.Max(base); slices.Contains(stands, false) || wrong > (1-leakCopy)*all || expected < 20 ||
		wrong > expected/10 {
		return
	}
	f.col.Role = Leak
	f.col.Why = fmt.Sprintf("has a value for each class, and %s of %s records have the class that theirs stands for: "+
		"is it the outcome under another name?",
		count(int64(right)), count(int64(all)))
	d.warn(f.col.Name, WarnLeak, "%s", f.col.Why)
}

// departure is a feature of which one value is in more than half of the records, and the others only where the outcome
// is one class: a fee that is 0, or a code that is "none", unless there was a sale.
type departure struct {
	measured
	usual, top   int     // cell of the usual value; class of the others
	here, beside float64 // records with another value, and those of them outside the class
}

// departures splits the features into possible leaks of this kind and the others. Of the records with another
// value, at least 20 were to be expected outside their main class by the base rates, and at most a tenth of them is.
func departures(features []measured, base []float64) (found []departure, others []measured) {
	k := len(base)
	var all float64
	for _, n := range base {
		all += n
	}
	for _, f := range features {
		x := departure{measured: f, usual: f.score.usual(k)}
		var total float64
		side := make([]float64, k)
		for at := 0; at < len(f.score.n); at += k {
			for c, v := range f.score.n[at : at+k] {
				total += v
				if at > 0 && at != x.usual*k {
					side[c] += v
					x.here += v
				}
			}
		}
		for c, v := range side {
			if v > side[x.top] {
				x.top = c
			}
		}
		x.beside = x.here - side[x.top]
		expected := x.here * (1 - base[x.top]/all)
		if x.usual == 0 || 2*(total-x.here) <= total || expected < 20 || x.beside > expected/10 {
			others = append(others, f)
		} else {
			found = append(found, x)
		}
	}
	return found, others
}

// departs flags the departures that the other features do not expect either: by the others together, too, at least
// 20 records were to be expected outside the class, and at most a tenth of them is.
func (d *Description) departs(s *sample, found []departure, others []measured, h []float64) {
	t := s.together(h)
	for _, f := range others {
		t.add(f.at, f.score)
	}
	p := make([]float64, len(h))
	for _, x := range found {
		var n, expected float64
		for r, cell := range s.cells[x.at] {
			if cell > 0 && int(cell) != x.usual {
				t.p(r, p)
				n++
				expected += 1 - p[x.top]
			}
		}
		if expected *= x.here / max(n, 1); expected < 20 || x.beside > expected/10 {
			continue
		}
		x.col.Role = Leak
		x.col.Why = fmt.Sprintf("where it is not %s, %s of %s records are %q, of all records %.1f %%: "+
			"is it filled in after the outcome?",
			x.score.value(x.usual), count(int64(x.here-x.beside)), count(int64(x.here)), d.Classes[x.top].Text, 100*h[x.top])
		d.warn(x.col.Name, WarnLeak, "%s", x.col.Why)
	}
}

// usual is the cell of the commonest single value, 0 when there is none.
func (s *alone) usual(classes int) int {
	best, most := 0, 0.0
	for cell := 1; cell*classes < len(s.n); cell++ {
		if s.number && cell > len(s.atoms) || !s.number && cell == maxCells {
			break
		}
		var n float64
		for _, v := range s.n[cell*classes : (cell+1)*classes] {
			n += v
		}
		if n > most {
			best, most = cell, n
		}
	}
	return best
}

// value is the text of a cell that holds a single value.
func (s *alone) value(cell int) string {
	if s.number {
		return fmt.Sprint(s.atoms[cell-1])
	}
	for text, k := range s.levels {
		if k == cell {
			return quote(text)
		}
	}
	return ""
}
