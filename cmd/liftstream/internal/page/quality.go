package page

import (
	"math"
	"slices"

	"liftstream/model/evaluate"
)

// buckets is the resolution of the running ranking: equal widths of log-odds between -12 and 12.
const buckets = 2048

// maxRanked bounds the classes that are ranked one against the rest, as evaluate.Set.AUC does it; with more, AUC is not
// kept.
const maxRanked = 32

// maxBlocks bounds the course: the AUC of the last blocks of evaluate.BlockRecords records.
const maxBlocks = 240

// histogram counts the weight of the records of a class, and of the rest, by the propensity of that class.
type histogram struct{ pos, neg [buckets]float64 }

func bucket(p float64) int {
	z := math.Log(p/(1-p))/24 + 0.5
	return int(min(max(z, 0), 1) * (buckets - 1))
}

func (h *histogram) add(p float64, positive bool, w float64) {
	if positive {
		h.pos[bucket(p)] += w
	} else {
		h.neg[bucket(p)] += w
	}
}

func (h *histogram) merge(o *histogram) {
	for i := range h.pos {
		h.pos[i] += o.pos[i]
		h.neg[i] += o.neg[i]
	}
}

// auc is that of evaluate.Ranking with the scores of a bucket tied: off by at most half the share of pairs in one
// bucket.
func (h *histogram) auc() float64 {
	var below, sum, pos float64
	for i := range h.pos {
		sum += h.pos[i] * (below + h.neg[i]/2)
		below += h.neg[i]
		pos += h.pos[i]
	}
	return sum / (pos * below)
}

// capture is the share of the positives among the given share of records that score highest; a bucket that the cut goes
// through counts in part.
func (h *histogram) capture(share float64) float64 {
	var n, pos float64
	for i := range h.pos {
		n += h.pos[i] + h.neg[i]
		pos += h.pos[i]
	}
	left, found := share*n, 0.0
	for i := buckets - 1; i >= 0 && left > 0; i-- {
		w := h.pos[i] + h.neg[i]
		if w > left {
			found += h.pos[i] * left / w
			break
		}
		found += h.pos[i]
		left -= w
	}
	return found / pos
}

// running measures the propensities of one partition as they come, in bounded memory.
type running struct {
	positive int   // class of the best tenth; -1 = none
	ranks    []int // the classes that are ranked against the rest
	ranked   []*histogram
	records  uint64
	weight   float64
	loss     float64
	classes  []float64 // weight by class

	block   *evaluate.Set
	sum     float64 // of the blocks' AUC
	defined float64 // blocks that have one
	course  []float64
}

func newRunning(classes, positive int) *running {
	r := &running{positive: positive, classes: make([]float64, classes), block: evaluate.NewSet(classes)}
	if positive < 0 && classes == 2 {
		r.positive = 1
	}
	switch {
	case classes == 2:
		r.ranks = []int{r.positive}
	case classes <= maxRanked:
		for c := range classes {
			r.ranks = append(r.ranks, c)
		}
	case r.positive >= 0:
		r.ranks = []int{r.positive}
	}
	for range r.ranks {
		r.ranked = append(r.ranked, &histogram{})
	}
	return r
}

// ordered reports whether AUC is kept.
func (r *running) ordered() bool { return len(r.classes) <= maxRanked }

func (r *running) add(p []float64, class int32, weight float64) {
	if r.block.Add(int64(r.records), p, class, weight) != nil {
		return
	}
	if weight > 0 {
		r.count(p, class, weight)
	}
	r.endBlock()
}

// count adds a record to the figures over all records.
func (r *running) count(p []float64, class int32, weight float64) {
	r.records++
	r.weight += weight
	r.classes[class] += weight
	r.loss -= weight * math.Log(min(max(p[class], evaluate.Clip), 1-evaluate.Clip))
	for k, h := range r.ranked {
		c := r.ranks[k]
		h.add(p[c], int(class) == c, weight)
	}
}

// endBlock measures a full block and begins the next. Records of no weight fill it too: it is bounded by their number.
func (r *running) endBlock() {
	if r.block.Len() < evaluate.BlockRecords {
		return
	}
	if r.ordered() {
		a := r.block.AUC()
		if !math.IsNaN(a) {
			r.sum += a
			r.defined++
		}
		if len(r.course) == maxBlocks {
			r.course = append(r.course[:0], r.course[1:]...)
		}
		r.course = append(r.course, a)
	}
	b := r.block
	*b = evaluate.Set{Classes: b.Classes, P: b.P[:0], Class: b.Class[:0], Weight: b.Weight[:0], Index: b.Index[:0]}
}

// Quality is how good the propensities were, each given before its record was learnt. Figures are null where they are
// not defined.
type Quality struct {
	Records   uint64          `json:"records"`  // labelled and counted
	LogLoss   evaluate.Number `json:"log_loss"` // nats
	BaseLoss  evaluate.Number `json:"base_log_loss"`
	AUC       evaluate.Number `json:"auc"`
	AUCBlocks evaluate.Number `json:"auc_blocks"`
	BaseRate  evaluate.Number `json:"base_rate"`
	// Capture is the share of the positives among the tenth of the records that score highest, Lift that over a tenth.
	Capture evaluate.Number   `json:"capture_at_0.1"`
	Lift    evaluate.Number   `json:"lift_at_0.1"`
	Course  []evaluate.Number `json:"course"` // AUC of the last blocks of 1,000 records, oldest first
	// Gains and Calibration are of the positive class; empty where there is none.
	Gains       []Gain `json:"gains"`
	Calibration []Bin  `json:"calibration"`
}

// quality joins the partitions' measures. Blocks are those of each partition.
func quality(parts []*running) Quality {
	var q Quality
	nan := evaluate.Number(math.NaN())
	q.LogLoss, q.BaseLoss, q.AUC, q.AUCBlocks, q.BaseRate, q.Capture, q.Lift = nan, nan, nan, nan, nan, nan, nan
	q.Course, q.Gains, q.Calibration = []evaluate.Number{}, []Gain{}, []Bin{}
	if len(parts) == 0 {
		return q
	}
	var weight, loss, sum, defined float64
	classes := make([]float64, len(parts[0].classes))
	ranked := make([]histogram, len(parts[0].ranked))
	for _, p := range parts {
		q.Records += p.records
		weight += p.weight
		loss += p.loss
		sum += p.sum
		defined += p.defined
		for c, w := range p.classes {
			classes[c] += w
		}
		for k := range ranked {
			ranked[k].merge(p.ranked[k])
		}
	}
	if weight == 0 {
		return q
	}
	q.LogLoss = evaluate.Number(loss / weight)
	var base float64
	for _, w := range classes {
		if w > 0 {
			base -= w * math.Log(w/weight)
		}
	}
	q.BaseLoss = evaluate.Number(base / weight)
	q.AUCBlocks = evaluate.Number(sum / defined)
	if parts[0].ordered() {
		var auc, n float64
		for k := range ranked {
			if a := ranked[k].auc(); !math.IsNaN(a) {
				auc += a
				n++
			}
		}
		q.AUC = evaluate.Number(auc / n)
	}
	if c := parts[0].positive; c >= 0 {
		q.BaseRate = evaluate.Number(classes[c] / weight)
		best := slices.Index(parts[0].ranks, c)
		q.Capture = evaluate.Number(ranked[best].capture(0.1))
		if g := ranked[best].gains(); g != nil {
			q.Gains, q.Calibration = g, bins(g)
		}
		q.Lift = q.Capture / 0.1
	}
	// Partitions of different pace are laid side by side from the newest block back.
	longest := 0
	for _, p := range parts {
		longest = max(longest, len(p.course))
	}
	for i := longest; i > 0; i-- {
		var m, k float64
		for _, p := range parts {
			if at := len(p.course) - i; at >= 0 && !math.IsNaN(p.course[at]) {
				m += p.course[at]
				k++
			}
		}
		q.Course = append(q.Course, evaluate.Number(m/k))
	}
	return q
}

// snapshot copies the fields that quality reads, so that the measure can go on meanwhile.
func (r *running) snapshot() *running {
	c := &running{positive: r.positive, ranks: r.ranks, records: r.records, weight: r.weight, loss: r.loss,
		sum: r.sum, defined: r.defined, classes: append([]float64(nil), r.classes...),
		course: append([]float64(nil), r.course...)}
	for _, h := range r.ranked {
		own := *h
		c.ranked = append(c.ranked, &own)
	}
	return c
}
