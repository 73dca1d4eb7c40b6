package state

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
)

// TestTheBytesOfABootstrap are those of format 1 for ever.
func TestTheBytesOfABootstrap(t *testing.T) {
	b := Bootstrap{Number: 300, Records: 1400, Labelled: 1250.5, Time: 1_700_000_000_000_000_001}
	const want = "01ac02f80a00000000008a93408280d0e2c6bfce972f" // before its checksum
	got := b.Encode()
	if text := hex.EncodeToString(got[:len(got)-4]); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if len(got) > JournalBytes {
		t.Errorf("%d bytes", len(got))
	}
	log := NewLog()
	log.Apply([]byte(BootstrapKey), got)
	if read, err := log.Bootstrap(); err != nil || read != b {
		t.Errorf("%+v is read as %+v, %v", b, read, err)
	}
	if keys := log.History(); len(keys) != 1 || log.Empty() {
		t.Errorf("it tells of the state: %q", keys)
	}
	log.Apply([]byte(BeginKey), EncodeBegin(301))
	if read, err := log.Bootstrap(); err != nil || read != (Bootstrap{}) {
		t.Errorf("behind the beginning of another state: %+v, %v", read, err)
	}
}

// TestABootstrapOfNoStage gives an error: damaged, cut, or with numbers that no bootstrap has.
func TestABootstrapOfNoStage(t *testing.T) {
	good := Bootstrap{Number: 1, Records: 9, Labelled: 9, Time: 5}
	for _, b := range []Bootstrap{{Records: 9, Labelled: 9}, {Number: MaxNumber, Records: 9},
		{Number: 1, Records: 9, Labelled: 9.5}, {Number: 1, Records: 9, Labelled: -1},
		{Number: 1, Records: 9, Labelled: math.NaN()}} {
		if _, err := DecodeBootstrap(b.Encode(), Format); err == nil {
			t.Errorf("%+v is read", b)
		}
	}
	value := good.Encode()
	for i := range value {
		if _, err := DecodeBootstrap(value[:i], Format); err == nil {
			t.Errorf("%d of %d bytes are read", i, len(value))
		}
		broken := bytes.Clone(value)
		broken[i] ^= 4
		log := NewLog()
		log.Apply([]byte(BootstrapKey), broken)
		if b, err := log.Bootstrap(); err == nil || b != (Bootstrap{}) {
			t.Errorf("byte %d changed: %+v, %v", i, b, err)
		}
	}
}
