package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// percentileWindow is the number of scores among which a percentile is a rank.
const percentileWindow = 100_000

// percentileBuckets is the resolution: buckets of equal width in log-odds between -12 and 12.
const percentileBuckets = 4096

// PartPercentile is the name of the part of a Model that holds the scores of all partitions.
const PartPercentile = "percentile"

// percentile ranks a propensity among the last percentileWindow ones, those of its class, over all partitions as the
// last model knows them: the scores of the other partitions that the model carries, and this partition's own newest
// ones. Both together are at most percentileWindow, so a partition keeps fewer of its own the more the others have. The
// own ones lie in a ring of buckets, and each class has a Fenwick tree over own and others (Fenwick 1994), O(log
// buckets) a score. Where nothing tells of the class, all scores lie in a few buckets: so each bucket has its scores in
// order, by finer steps (percentilefine.go).
type percentile struct {
	ring   []scored // own scores; once there are limit of them the oldest is at at
	at     int
	limit  int                // of own scores: percentileWindow minus those of the others
	others map[int32][]bucket // by class, ascending
	steps  map[int32][]uint8  // of these, bucket after bucket
	trees  map[int32]*buckets // by class
	held   bool               // rank takes no score into the window: see Peek
}

// scored is the bucket of a propensity, its class, and its step in the bucket.
type scored struct {
	bucket, class uint16
	fine          uint8
}

// bucket is how many scores lie in a bucket.
type bucket struct {
	bucket uint16
	n      int32
}

// buckets counts the scores of a class.
type buckets struct {
	n    int32
	tree [percentileBuckets + 1]int32
	fine [percentileBuckets]steps // of the scores in each bucket
}

// percentileBucket is the bucket of a propensity, and its step there.
func percentileBucket(p float64) (b uint16, fine uint8) {
	z := math.Log(p/(1-p))/24 + 0.5
	at := min(max(z, 0), 1) * (percentileBuckets - 1)
	return uint16(at), uint8((at - math.Trunc(at)) * fineSteps)
}

// move adds a score to bucket b, d = 1, or takes it out, d = -1.
func (q *buckets) move(b uint16, fine uint8, d int32) {
	q.n += d
	for i := int(b) + 1; i <= percentileBuckets; i += i & -i {
		q.tree[i] += d
	}
	if d > 0 {
		q.fine[b].add(fine)
	} else {
		q.fine[b].drop(fine)
	}
}

func (q *buckets) below(b uint16) (n int32) {
	for i := int(b); i > 0; i -= i & -i {
		n += q.tree[i]
	}
	return n
}

func newPercentile() percentile {
	return percentile{limit: percentileWindow, trees: map[int32]*buckets{}}
}

// of returns the counts of a class.
func (q *percentile) of(class int32) *buckets {
	t := q.trees[class]
	if t == nil {
		t = &buckets{}
		q.trees[class] = t
	}
	return t
}

// rank returns the share of the class's scores in the window that lie below p, those at p's own step counted by half;
// 0.5 where there are none. Then it takes p into the window, unless the window is held.
func (q *percentile) rank(class int32, p float64) float32 {
	b, fine := percentileBucket(p)
	t := q.of(class)
	r := float32(0.5)
	if t.n > 0 {
		below, same := t.fine[b].below(fine)
		r = (float32(t.below(b)+below) + float32(same)/2) / float32(t.n)
	}
	if q.held {
		return r
	}
	t.move(b, fine, 1)
	x := scored{b, uint16(class), fine}
	if len(q.ring) < q.limit {
		q.ring = append(q.ring, x)
		return r
	}
	old := q.ring[q.at]
	q.of(int32(old.class)).move(old.bucket, old.fine, -1)
	q.ring[q.at] = x
	q.at = (q.at + 1) % q.limit
	return r
}

// newest returns the last n own scores, oldest first.
func (q *percentile) newest(n int) []scored {
	n = min(n, len(q.ring))
	out := make([]scored, 0, n)
	for i := len(q.ring) - n; i < len(q.ring); i++ {
		out = append(out, q.ring[(q.at+i)%len(q.ring)])
	}
	return out
}

// rebase takes the others' scores from the model's part, by partition and class, and gives up own ones for which there
// is no space beside them. A model without such a part, as that of files, changes nothing.
func (q *percentile) rebase(part map[int32]map[int32][]bucket, fine map[int32]map[int32][]uint8, self int32) {
	if part == nil {
		return
	}
	var others []scored
	for p, classes := range part {
		if p != self {
			others = append(others, scoresOf(classes, fine[p])...)
		}
	}
	limit := max(percentileWindow-len(others), 1)
	q.set(q.newest(limit), limit, counted(others), stepsOf(others))
}

// ascending makes lists of counts.
func ascending(counts map[int32]map[uint16]int32) map[int32][]bucket {
	lists := map[int32][]bucket{}
	for class, by := range counts {
		for _, b := range sortedKeys(by) {
			lists[class] = append(lists[class], bucket{b, by[b]})
		}
	}
	return lists
}

// set replaces everything.
func (q *percentile) set(own []scored, limit int, others map[int32][]bucket, steps map[int32][]uint8) {
	*q = newPercentile()
	q.ring, q.limit, q.others, q.steps = own, limit, others, steps
	for _, x := range slices.Concat(scoresOf(others, steps), own) {
		q.of(int32(x.class)).move(x.bucket, x.fine, 1)
	}
}

// percentilePart makes the model's part: the newest scores of each partition, percentileWindow in all, shared out over
// the partitions like the records that they have seen.
func percentilePart(members []member) []byte {
	b := wire.AppendUvarint(nil, uint64(len(members)))
	for i := range members {
		b = wire.AppendVarint(b, int64(members[i].self))
		b = appendBuckets(b, members[i].scores)
	}
	return b
}

// counted counts scores by class and bucket.
func counted(scores []scored) map[int32][]bucket {
	counts := map[int32]map[uint16]int32{}
	for _, x := range scores {
		c := int32(x.class)
		if counts[c] == nil {
			counts[c] = map[uint16]int32{}
		}
		counts[c][x.bucket]++
	}
	return ascending(counts)
}

// readPercentilePart is the inverse of percentilePart; nil of nothing.
func readPercentilePart(b []byte, classes int) (map[int32]map[int32][]bucket, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := wire.NewReader(b)
	out, total := map[int32]map[int32][]bucket{}, 0
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		p := int32(r.Varint())
		out[p] = readBuckets(r, classes, &total)
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("decoding the scores of a model: %w", err)
	}
	return out, nil
}

func appendBuckets(b []byte, lists map[int32][]bucket) []byte {
	b = wire.AppendUvarint(b, uint64(len(lists)))
	for _, c := range sortedKeys(lists) {
		b = wire.AppendUvarint(b, uint64(c))
		b = wire.AppendUvarint(b, uint64(len(lists[c])))
		for _, x := range lists[c] {
			b = wire.AppendUvarint(b, uint64(x.bucket))
			b = wire.AppendUvarint(b, uint64(x.n))
		}
	}
	return b
}

// readBuckets is the inverse of appendBuckets and adds the number of scores to total, which the window bounds.
func readBuckets(r *wire.Reader, classes int, total *int) map[int32][]bucket {
	out := map[int32][]bucket{}
	for n := r.Int(classes); n > 0 && r.Err() == nil; n-- {
		c := int32(r.Int(classes - 1))
		if out[c] != nil {
			r.Fail(fmt.Errorf("class %d stands twice", c))
		}
		last := -1
		for k := r.Int(percentileBuckets); k > 0 && r.Err() == nil; k-- {
			x := bucket{uint16(r.Int(percentileBuckets - 1)), int32(r.Int(percentileWindow))}
			if int(x.bucket) <= last {
				r.Fail(fmt.Errorf("bucket %d follows %d", x.bucket, last))
			}
			last = int(x.bucket)
			if *total += int(x.n); *total > percentileWindow {
				r.Fail(fmt.Errorf("more than %d scores", percentileWindow))
			}
			out[c] = append(out[c], x)
		}
	}
	return out
}

func (q *percentile) appendState(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(q.limit))
	b = appendBuckets(b, q.others)
	own := q.newest(len(q.ring))
	b = wire.AppendUvarint(b, uint64(2*len(own)))
	one := true
	for _, x := range own {
		b = binary.LittleEndian.AppendUint16(b, x.bucket)
		one = one && x.class == own[0].class
	}
	n := len(own)
	if one { // it stands once
		n = min(1, n)
	}
	b = wire.AppendUvarint(b, uint64(2*n))
	for _, x := range own[:n] {
		b = binary.LittleEndian.AppendUint16(b, x.class)
	}
	return b
}

// load reads a state. Format 2 had one ring for all classes: it is taken where only one can have been meant, positive.
func (q *percentile) load(format uint64, b []byte, classes, positive int) error {
	r := wire.NewReader(b)
	var others map[int32][]bucket
	var of []byte
	limit, at, total := percentileWindow, 0, 0
	if format < 3 {
		at = r.Int(percentileWindow - 1)
	} else {
		limit = r.Int(percentileWindow)
		others = readBuckets(r, classes, &total)
	}
	raw := r.Bytes()
	if format >= 3 {
		of = r.Bytes()
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("decoding percentiles: %w", err)
	}
	if limit < 1 || len(raw)%2 != 0 || len(raw) > 2*limit ||
		format >= 3 && len(of) != min(2, len(raw)) && len(of) != len(raw) {
		return fmt.Errorf("decoding percentiles: %d bytes of scores, %d of classes", len(raw), len(of))
	}
	own := make([]scored, len(raw)/2)
	for i := range own {
		x := &own[i]
		x.bucket, x.class = binary.LittleEndian.Uint16(raw[2*i:]), uint16(max(positive, 0))
		x.fine = fineSteps / 2
		if len(of) > 0 {
			k := 0
			if len(of) == len(raw) {
				k = 2 * i
			}
			x.class = binary.LittleEndian.Uint16(of[k:])
		}
		if x.bucket >= percentileBuckets || int(x.class) >= classes {
			return fmt.Errorf("decoding percentiles: bucket %d of class %d", x.bucket, x.class)
		}
	}
	if format < 3 && at < len(own) {
		own = append(own[at:len(own):len(own)], own[:at]...)
	}
	if format < 3 && positive < 0 {
		own = nil
	}
	q.set(own, limit, others, evenSteps(others))
	return nil
}
