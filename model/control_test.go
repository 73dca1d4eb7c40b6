package model

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// TestControlIsTheDrawOfItsPage compares with a slow program after the formula of Holds, in whole numbers of any size.
func TestControlIsTheDrawOfItsPage(t *testing.T) {
	for _, c := range []Control{{Share: .05, Seed: 1}, {Share: .3, Seed: 77}, {Share: .5, ByRecord: true, Seed: 1}} {
		in := 0
		const n = 20_000
		for i := range n {
			id, row := fmt.Sprintf("customer-%d", i), int32(i%7)
			text := fmt.Sprintf("%d:%s", c.Seed, id)
			if c.ByRecord {
				text = fmt.Sprintf("%d:3/%d/%d", c.Seed, i/7, row)
			}
			sum := sha256.Sum256([]byte(text))
			draw := new(big.Float).SetInt(new(big.Int).SetBytes(sum[:8]))
			want := draw.Quo(draw, big.NewFloat(math.Exp2(64))).Cmp(big.NewFloat(c.Share)) < 0
			if got := c.Holds(id, 3, int64(i/7), row); got != want {
				t.Fatalf("%+v: %s is in the share: %v, want %v", c, text, got, want)
			}
			if want {
				in++
			}
		}
		// Five standard deviations of a binomial count.
		if mean := c.Share * n; math.Abs(float64(in)-mean) > 5*math.Sqrt(mean*(1-c.Share)) {
			t.Errorf("%+v: %d of %d records", c, in, n)
		}
	}
}

// TestControlStays: an id is in the share wherever its record lies, and in each larger one; without a share or an id no
// record is.
func TestControlStays(t *testing.T) {
	small, large, none := Control{Share: .1, Seed: 5}, Control{Share: .2, Seed: 5}, Control{Seed: 5}
	other, differ := Control{Share: .1, Seed: 6}, false
	for i := range 2000 {
		id := fmt.Sprint(i)
		in := small.Holds(id, 0, 1, 2)
		if in != small.Holds(id, 4, 7, 0) || in && !large.Holds(id, 0, 1, 2) || none.Holds(id, 0, 1, 2) {
			t.Fatalf("id %s", id)
		}
		differ = differ || in != other.Holds(id, 0, 1, 2)
	}
	if !differ || small.Holds("", 0, 0, 0) {
		t.Error("another seed draws the same ids, or a record without an id is in the share")
	}
}

// TestScoresSayControl: the flags of a batch are those of its records, also after another batch, and there are
// none without a share.
func TestScoresSayControl(t *testing.T) {
	c := Control{Share: .5, Seed: 1}
	b := Batch{N: 64, Offset: 9}
	for i := range b.N {
		b.ID, b.Row = append(b.ID, fmt.Sprint("id", i)), append(b.Row, int32(i))
	}
	out := Scores{Control: []bool{true, true}}
	c.flag(&b, &out)
	var all Scores
	in := 0
	for i, is := range out.Control {
		if is != c.Holds(b.ID[i], 0, 9, int32(i)) {
			t.Errorf("record %d", i)
		}
		if is {
			in++
		}
	}
	if len(out.Control) != b.N || in == 0 || in == b.N {
		t.Fatalf("%d of %d flags are set", in, len(out.Control))
	}
	out.Classes, out.N = 1, b.N
	grown := out
	grown.Reset(b.N, 1)
	grown.Control = out.Control
	all.Classes = 1
	for i := range b.N {
		all.Append(&grown, i)
	}
	if len(all.Control) != b.N || all.Control[3] != out.Control[3] {
		t.Errorf("appended flags %v", all.Control)
	}
	(&Control{}).flag(&b, &out)
	if len(out.Control) != 0 {
		t.Errorf("without a share the scores have flags %v", out.Control)
	}
}
