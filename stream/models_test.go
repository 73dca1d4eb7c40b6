package stream

import (
	"strings"
	"testing"
)

// FuzzModelTopic takes records of any origin and then looks at everything that the topic is said to hold.
func FuzzModelTopic(f *testing.F) {
	b := blob{chunks: 1, packed: 20, length: 30, crc: 1}
	f.Add("version/7", []byte("\x01\x07"), "model/7/0", []byte("x"))
	f.Add("version/7", seal(b.append([]byte{7}), 1), "model/7/0", seal(newPacker().enc.EncodeAll([]byte("LSMD\x01\x0e"), nil), 1))
	f.Add("version/9007199254740992", seal(nil, 1), "version/-1", seal(nil, 1))
	f.Fuzz(func(t *testing.T, key string, value []byte, other string, content []byte) {
		l := newModelLog(nil, "", testSchema)
		l.apply(key, value)
		l.apply(other, content)
		l.apply(other, seal(content, 1))
		for v := range l.versions() {
			if v <= 0 || v >= maxNumber {
				t.Errorf("version %d is taken for one", v)
			}
			_, _ = l.get(v)
		}
		if m := l.readable(); m != nil && m.Version != l.highest {
			t.Errorf("model %d is read as version %d", m.Version, l.newest)
		}
		for k := range l.values {
			if !strings.HasPrefix(k, "model/") {
				t.Errorf("key %q is kept", k)
			}
		}
	})
}

func TestVerifyReadsModelsThatWereDeletedMeanwhile(t *testing.T) {
	for _, all := range []bool{false, true} {
		l := newModelLog(nil, "", testSchema)
		l.all = all
		l.apply("model/3/0", seal([]byte("x"), 1))
		l.apply("version/3", seal((&blob{chunks: 1}).append([]byte{3}), 1))
		l.apply("version/3", nil)
		l.apply("model/3/0", nil)
		if _, held := l.versions()[3]; held != all || len(l.values) > 0 != all {
			t.Errorf("all %v: version 3 held %v, %d chunks", all, held, len(l.values))
		}
	}
}

func TestSmallValuesDoNotKeepTheAnswersThatTheyCameIn(t *testing.T) {
	state, models := newStateLog(), newModelLog(nil, "", testSchema)
	block := make([]byte, 64<<10)
	copy(block, "value")
	state.apply([]byte("journal/5"), block[:5])
	models.apply("model/3/0", block[:5])
	copy(block, "other")
	if string(state.values["journal/5"]) != "value" || string(models.values["model/3/0"]) != "value" {
		t.Error("a value lies in the block of its answer")
	}
}
