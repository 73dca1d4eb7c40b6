package modeltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"liftstream/model"
	"liftstream/model/wire"
)

// testFormat reads the bytes of an earlier build. It holds the bytes to be read, not how they come to be: a fit
// that finds something else does not matter.
func testFormat(t *testing.T, x *fixture) {
	if x.Golden == "" {
		return
	}
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		writeGolden(t, x)
	}
	levels, part, old := ReadGolden(t, x.Schema, x.Golden)
	c := x.factory.New(levels)
	if err := c.LoadState(old); err != nil {
		t.Fatalf("%s: a state of an earlier build is not read: %v", x.Golden, err)
	}
	if !bytes.Equal(state(c), old) {
		t.Errorf("%s: a state of an earlier build is written otherwise: that is another format", x.Golden)
	}
	rebase(t, c, part, 0, nil, nil)
	rebase(t, x.factory.New(levels), part, 0, nil, nil)
	ev := Evidence(x.Schema, levels, x.examples[:x.fitted])
	ev.States = model.HeldStates(map[int32][]byte{0: old})
	ev.Recodes, ev.Models = map[int32]model.Recode{0: nil}, map[int32]int64{0: 1}
	if _, err := x.factory.Fit(context.Background(), ev, part); err != nil {
		t.Errorf("%s: fitting behind an earlier build: %v", x.Golden, err)
	}
}

// ReadGolden reads a file as writeGolden writes it: the levels, the part and the state of an earlier build.
func ReadGolden(t testing.TB, s *model.Schema, path string) (levels *model.Levels, part, state []byte) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	r := wire.NewReader(raw)
	if levels, err = model.DecodeLevels(s, r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	part, state = r.Bytes(), r.Bytes()
	if err := r.Done(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return levels, part, state
}

func writeGolden(t *testing.T, x *fixture) {
	t.Helper()
	WriteGolden(t, x.Golden, x.levels, x.part, state(x.live(t, x.part, 0, x.examples[x.fitted:])))
}

// WriteGolden writes a file that ReadGolden reads.
func WriteGolden(t testing.TB, path string, levels *model.Levels, part, state []byte) {
	t.Helper()
	b := wire.AppendBytes(wire.AppendBytes(levels.AppendBinary(nil), part), state)
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
