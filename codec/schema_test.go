package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// schemaOnly is a stream of a schema and no batch.
func schemaOnly(t testing.TB, fields []arrow.Field) []byte {
	t.Helper()
	cols := make([]arrow.Array, len(fields))
	for i := range fields {
		cols[i] = array.MakeArrayOfNull(memory.DefaultAllocator, fields[i].Type, 0)
	}
	return encodeStream(t, []arrow.Record{array.NewRecord(arrow.NewSchema(fields, nil), cols, 0)})
}

// TestSchemaBombs: schemas that would make Arrow copy or recurse without bound are refused before it sees them.
func TestSchemaBombs(t *testing.T) {
	var deep arrow.DataType = int64Type
	for range maxDepth + 3 {
		deep = arrow.ListOf(deep)
	}
	var many []arrow.Field
	for i := range maxFields + 1 {
		many = append(many, field(fmt.Sprint(i), int64Type))
	}
	// Names may be shared in a flatbuffer: a thousand fields that all point to one name of a megabyte.
	shared := schemaOnly(t, append([]arrow.Field{field(strings.Repeat("x", 1<<20), int64Type)}, many[:1000]...))
	frames, merr := split(shared, nil)
	if merr != nil {
		t.Fatal(merr)
	}
	fb := flat{b: frames[0].meta}
	fields, n := fb.vector(fb.field(fb.ref(fb.field(fb.root(), messageHeader)), schemaFields), 4)
	if n != 1001 {
		t.Fatal(n)
	}
	long := fb.ref(fb.field(fb.ref(fields), fieldName))
	for i := 1; i < n; i++ {
		at := fb.field(fb.ref(fields+4*i), fieldName)
		if at >= long {
			t.Fatal("the long name does not lie behind the fields")
		}
		binary.LittleEndian.PutUint32(fb.b[at:], uint32(long-at))
	}
	for _, c := range []struct {
		name  string
		value []byte
	}{{"deep", schemaOnly(t, []arrow.Field{field("x", deep)})}, {"many", schemaOnly(t, many)}, {"shared names", shared}} {
		d := mustDecoder(t, bankOptions())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var b model.Batch
		_, err := d.Decode(&Message{Value: c.value}, &b, nil)
		runtime.ReadMemStats(&after)
		var m *MessageError
		if !errors.As(err, &m) || m.Reason != ReasonTooLarge {
			t.Errorf("%s: %.200s", c.name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes allocated", c.name, n)
		}
	}
}
