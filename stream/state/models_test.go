package state

import (
	"strings"
	"testing"

	"liftstream/stream/internal/sample"
)

// FuzzModelTopic takes records of any origin and then looks at everything that the topic is said to hold.
func FuzzModelTopic(f *testing.F) {
	b := Blob{Chunks: 1, Packed: 20, Length: 30, CRC: 1}
	f.Add("version/7", []byte("\x01\x07"), "model/7/0", []byte("x"))
	f.Add("version/7", Seal(b.AppendBinary([]byte{7}), 1),
		"model/7/0", Seal(NewPacker().enc.EncodeAll([]byte("LSMD\x01\x0e"), nil), 1))
	f.Add("version/9007199254740992", Seal(nil, 1), "version/-1", Seal(nil, 1))
	f.Fuzz(func(t *testing.T, key string, value []byte, other string, content []byte) {
		l := NewModels(nil, "", sample.Schema)
		l.apply(key, value)
		l.apply(other, content)
		l.apply(other, Seal(content, 1))
		for v := range l.Versions() {
			if v <= 0 || v >= MaxNumber {
				t.Errorf("version %d is taken for one", v)
			}
			_, _ = l.Get(v)
		}
		if m := l.Readable(); m != nil && m.Version != l.highest {
			t.Errorf("model %d is read as version %d", m.Version, l.Newest)
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
		l := NewModels(nil, "", sample.Schema)
		l.KeepAll = all
		l.apply("model/3/0", Seal([]byte("x"), 1))
		l.apply("version/3", Seal((&Blob{Chunks: 1}).AppendBinary([]byte{3}), 1))
		l.apply("version/3", nil)
		l.apply("model/3/0", nil)
		if _, held := l.Versions()[3]; held != all || len(l.values) > 0 != all {
			t.Errorf("all %v: version 3 held %v, %d chunks", all, held, len(l.values))
		}
	}
}

func TestSmallValuesDoNotKeepTheAnswersThatTheyCameIn(t *testing.T) {
	state, models := NewLog(), NewModels(nil, "", sample.Schema)
	block := make([]byte, 64<<10)
	copy(block, "value")
	state.Apply([]byte("journal/5"), block[:5])
	models.apply("model/3/0", block[:5])
	copy(block, "other")
	if string(state.values["journal/5"]) != "value" || string(models.values["model/3/0"]) != "value" {
		t.Error("a value lies in the block of its answer")
	}
}
