package verify

import (
	"strings"
	"testing"

	"liftstream/model/wire"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
)

func TestNothingToBeginWith(t *testing.T) {
	raw := func(names ...string) []byte {
		return wire.AppendStrings(wire.AppendStrings(wire.AppendUvarint(nil, 2), nil), names)
	}
	of := func(fingerprints ...uint64) (out []*snapshot) {
		for _, f := range fingerprints {
			out = append(out, &snapshot{Manifest: &state.Manifest{Fingerprint: f}})
		}
		return out
	}
	for _, c := range []struct {
		name      string
		snapshots []*snapshot
		levels    []byte
		want, not string
	}{
		{"no snapshot", nil, nil, "there is nothing to begin with", "fingerprint"},
		{"one of this configuration", of(8, 9), nil, "there is nothing to begin with", "fingerprint"},
		{"all of others", of(7, 8), nil, "its fingerprint is 0000000000000008, and here it is 0000000000000009;", "level"},
		{"with levels as here", of(8), raw("1", "a"), "verify with the build and the configuration", "level"},
		{"with texts of before", of(8), raw("1.0", "a"), `the level "1.0" of c, which`, "nothing"},
		{"with twins", of(8), raw("a", "1", "1.0"), `keeps "1" and "1.0" of c as two levels`, "nothing"},
	} {
		v := &verifier{o: &Options{Spec: sample.Spec()}, history: &history{snapshots: c.snapshots,
			levels: map[uint64][]byte{8: c.levels}}}
		if got := v.nothing(); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestBecauseOfLevelsOfAnEarlierBuild(t *testing.T) {
	levels := func(names ...string) []byte {
		return wire.AppendStrings(wire.AppendStrings(wire.AppendUvarint(nil, 2), nil), names)
	}
	for _, c := range []struct {
		name    string
		raw     []byte
		because []string // words of it; none = there is no reason
		spelled bool
		problem bool
	}{
		{"no snapshot", nil, nil, false, false},
		{"levels of this build", levels("a", "1", "2.5"), nil, true, false},
		{"texts of before", levels("a", "1.0", "2.50"), []string{"an earlier build", `"1.0" of c`, "writes otherwise"}, true,
			false},
		{"two levels of one value", levels("1", "a", "1.0"), []string{"an earlier build", `"1" and "1.0" of c`,
			"no sign of damage"}, true, false},
		{"damaged", []byte{7}, nil, false, true},
	} {
		spec := sample.Spec()
		v := &verifier{o: &Options{Spec: spec}, history: &history{levels: map[uint64][]byte{}}, verdict: &Verdict{}}
		if c.raw != nil {
			v.history.levels[spec.Options.Fingerprint] = c.raw
		}
		got := v.spelled()
		if (got.Options.Spelling != nil) != c.spelled || spec.Options.Spelling != nil {
			t.Errorf("%s: spelling %+v", c.name, got.Options.Spelling)
		}
		for _, word := range c.because {
			if !strings.Contains(v.verdict.Because, word) {
				t.Errorf("%s: %q lacks %q", c.name, v.verdict.Because, word)
			}
		}
		if len(c.because) == 0 && v.verdict.Because != "" || (len(v.verdict.Problems) > 0) != c.problem {
			t.Errorf("%s: %q, problems %q", c.name, v.verdict.Because, v.verdict.Problems)
		}
	}
}
