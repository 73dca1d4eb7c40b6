package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// repeated is a message whose column holds one long text in each of many rows, by a dictionary or by views.
func repeated(t testing.TB, name string, views bool, text, rows int, o ...ipc.Option) []byte {
	t.Helper()
	long := strings.Repeat("a", text)
	var a arrow.Array
	if views {
		one := array.NewBuilder(memory.DefaultAllocator, arrow.BinaryTypes.StringView).(*array.StringViewBuilder)
		one.Append(long)
		data := one.NewArray().Data()
		headers := slices.Repeat(data.Buffers()[1].Bytes()[:16], rows)
		buffers := append([]*memory.Buffer{nil, memory.NewBufferBytes(headers)}, data.Buffers()[2:]...)
		a = array.MakeFromData(array.NewData(arrow.BinaryTypes.StringView, rows, buffers, nil, 0, 0))
	} else {
		dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}
		values, indices := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt8Builder(memory.DefaultAllocator)
		values.Append(long)
		for range rows {
			indices.Append(0)
		}
		a = array.NewDictionaryArray(dt, indices.NewArray(), values.NewArray())
	}
	schema := arrow.NewSchema([]arrow.Field{field(name, a.DataType()), field("x", arrow.Null)}, nil)
	rec := array.NewRecord(schema, []arrow.Array{a, array.NewNull(rows)}, int64(rows))
	return encodeStream(t, []arrow.Record{rec}, o...)
}

// TestExpansions: little messages that stand for much memory, or for much work, are read within their bound or refused
// with its name.
func TestExpansions(t *testing.T) {
	features := []model.Feature{{Name: "x", Kind: model.Continuous}, {Name: "v", Kind: model.Nominal}}
	for _, c := range []struct {
		name   string
		column string // of the long texts
		views  bool
		text   int
		rows   int
		letter bool // the rows are refused
		dead   Reason
	}{
		{"ids of a dictionary", "id", false, 4000, 200_000, false, ""},
		{"long ids of a dictionary", "id", false, 64 << 10, 200_000, true, ""},
		{"ids that share a buffer", "id", true, 4000, 200_000, false, ReasonTooLarge},
		{"long ids that share a buffer", "id", true, 64 << 10, 20_000, false, ReasonTooLarge},
		{"labels of a dictionary", "y", false, 1 << 20, 300_000, false, ""},
		{"labels that share a buffer", "y", true, 1 << 20, 300_000, false, ReasonTooLarge},
		{"levels of a dictionary", "v", false, 1 << 20, 300_000, false, ""},
		{"levels that share a buffer", "v", true, 1 << 20, 300_000, false, ReasonTooLarge},
		{"times of a dictionary", "t", false, 1 << 20, 100_000, true, ""},
	} {
		o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: features[:1]}, MaxMessage: 8 << 20}
		switch c.column {
		case "id":
			o.ID = "id"
		case "y":
			o.Label = "y"
		case "t":
			o.Time = "t"
		case "v":
			o.Schema.Features = features
		}
		value := repeated(t, c.column, c.views, c.text, c.rows, ipc.WithZstd())
		d := mustDecoder(t, o)
		var b model.Batch
		var carry Carry
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := modeltest.Processor()
		bad, err := d.Decode(&Message{Value: value}, &b, &carry)
		took := modeltest.Processor() - began
		runtime.ReadMemStats(&after)
		var m *MessageError
		switch {
		case c.dead != "" && (!errors.As(err, &m) || m.Reason != c.dead || !strings.Contains(m.Error(), "memory.message")):
			t.Errorf("%s: %v, want %s", c.name, err, c.dead)
		case c.dead == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.dead == "" && c.letter != (len(bad) == c.rows):
			t.Errorf("%s: %d of %d rows are refused", c.name, len(bad), c.rows)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 200 {
			t.Errorf("%s: %d MiB allocated for %d bytes", c.name, n, len(value))
		}
		if took > 20*time.Second {
			t.Errorf("%s: it took %v", c.name, took)
		}
		t.Logf("%s: %d bytes, %v, %v", c.name, len(value), took, err)
	}
}

// TestLabelBombs is the same for messages of labels.
func TestLabelBombs(t *testing.T) {
	const rows = 300_000
	value := repeated(t, "y", false, 1<<20, rows, ipc.WithZstd())
	d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, Label: "y"})
	var l model.Labels
	_, err := d.DecodeLabels(&Message{Value: value}, &l)
	if want := "missing"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err) // it names no records
	}
	// Every row is refused: unknown labels of a text of a megabyte.
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, Label: "y", ID: "x"}
	began := modeltest.Processor()
	bad, err := mustDecoder(t, o).DecodeLabels(&Message{Value: value}, &l)
	if err != nil || len(bad) != rows || len(bad[0].Value) > 100 {
		t.Errorf("%d rows are refused, %v", len(bad), err)
	}
	if took := modeltest.Processor() - began; took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestManyBatchesOfOneDictionary: handing a large dictionary on from thousands of batches must not look at it in each.
func TestManyBatchesOfOneDictionary(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: utf8Type}
	values, indices := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
	for i := range 50_000 {
		values.Append(fmt.Sprintf("a value with the number %d", i))
	}
	indices.AppendValues([]int32{7, 8}, nil)
	schema := arrow.NewSchema([]arrow.Field{field("id", dt)}, nil)
	rec := array.NewRecord(schema, []arrow.Array{array.NewDictionaryArray(dt, indices.NewArray(), values.NewArray())}, 2)
	value := encodeStream(t, slices.Repeat([]arrow.Record{rec}, 2000))
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, ID: "id"}
	d, err := NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	var c Carry
	began := modeltest.Processor()
	if bad, err := d.Decode(&Message{Value: value}, &b, &c); err != nil || len(bad) > 0 || b.N != 4000 {
		t.Fatalf("%d rows, %v, %v", b.N, bad, err)
	}
	s := &model.Scores{}
	s.Reset(b.N, 2)
	table, err := e.Table(&b, s, model.NewLevels(o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := table.Text(0, 3999); got != "a value with the number 8" {
		t.Errorf("the last id is %q", got)
	}
	if took := modeltest.Processor() - began; took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestLyingCompression: a buffer announces more than its bytes can hold.
func TestLyingCompression(t *testing.T) {
	for _, o := range []ipc.Option{ipc.WithLZ4(), ipc.WithZstd()} {
		value := encodeStream(t, []arrow.Record{bankRecord(200)}, o)
		frames, merr := split(value, nil)
		if merr != nil {
			t.Fatal(merr)
		}
		body := frames[1].body
		for i := 0; i+8 <= len(body); i += 8 {
			if n := binary.LittleEndian.Uint64(body[i:]); n == 8*200 { // a column of numbers
				binary.LittleEndian.PutUint64(body[i:], 200<<20)
				break
			}
		}
		var b model.Batch
		var m *MessageError
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := mustDecoder(t, bankOptions()).Decode(&Message{Value: value}, &b, nil)
		runtime.ReadMemStats(&after)
		if !errors.As(err, &m) || m.Reason != ReasonDamaged && m.Reason != ReasonTooLarge {
			t.Errorf("%v", err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%d bytes allocated", n)
		}
	}
}

// TestDeadRowIsSmall: a dead letter of a row holds the values of that row alone.
func TestDeadRowIsSmall(t *testing.T) {
	for _, of := range []arrow.DataType{arrow.BinaryTypes.StringView,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}} {
		long := strings.Repeat("a", 100_000)
		schema := arrow.NewSchema([]arrow.Field{field("id", of)}, nil)
		rec := array.NewRecord(schema, []arrow.Array{texts(of, long, "b\xFF", long+"c")}, 3)
		d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, ID: "id"})
		var b model.Batch
		bad, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
		if err != nil || len(bad) != 3 {
			t.Fatalf("%s: %v, %v", of, bad, err)
		}
		for i, want := range []string{long, "b\xFF", long + "c"} {
			letter, err := d.AppendRow(nil, int32(i))
			if err != nil || len(letter) > len(want)+2000 {
				t.Errorf("%s: row %d is a letter of %d bytes, %v", of, i, len(letter), err)
			}
			for table, err := range Tables(letter, 0) {
				if err != nil || table.Rows() != 1 {
					t.Fatalf("%s: %v", of, err)
				}
				if got, _ := table.Text(0, 0); got != want {
					t.Errorf("%s: row %d is %.20q", of, i, got)
				}
			}
		}
	}
}
