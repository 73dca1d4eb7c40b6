package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"liftstream/model"
)

// attributed are options of records whose id, time and one feature are attributes of CloudEvents.
func attributed(input Input) Options {
	return Options{ID: "ce_subject", Time: "ce_time", Input: input, Attributes: true, Features: FeaturesAll,
		Format: FormatJSONL, Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{{Name: "x"},
			{Name: "ce_type", Kind: model.Nominal}}}}
}

// TestAttributesAreColumns: of each row, in JSON and in Avro; a key of the row goes before them, and a message without
// an attribute lacks the column.
func TestAttributesAreColumns(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"x","type":"double"}]}`
	const own = `{"type":"record","name":"R","fields":[{"name":"x","type":"double"},{"name":"ce_type","type":"string"}]}`
	registry := schemas{1: schema, 2: own}
	for _, c := range []struct {
		name  string
		input Input
		value []byte
		rows  int
		kind  string
	}{
		{"json", InputJSON, []byte(`{"x": 1.5}`), 1, "visit"},
		{"json lines", InputJSONL, []byte(`{"x": 1.5}` + "\n" + `{"x": 1.5}`), 2, "visit"},
		{"json with the key", InputJSON, []byte(`{"x": 1.5, "ce_type": "own"}`), 1, "own"},
		{"avro", InputAvro, framed(1, encoded(t, schema, map[string]any{"x": 1.5})), 1, "visit"},
		{"avro with the field", InputAvro, framed(2, encoded(t, own, map[string]any{"x": 1.5, "ce_type": "own"})), 1, "own"},
	} {
		o := attributed(c.input)
		o.Schemas = registry
		d := mustDecoder(t, o)
		m := Message{Value: c.value, Time: 5}
		for _, h := range []string{"ce_subject=b", "ce_subject=anna", "ce_time=1970-01-01T00:00:02Z", "ce_type=visit",
			"other=x"} {
			name, value, _ := strings.Cut(h, "=")
			m.Headers.Set(name, []byte(value))
		}
		for range 2 { // the readers serve once more
			var b model.Batch
			var carry Carry
			bad, err := d.Decode(&m, &b, &carry)
			if err != nil || len(bad) > 0 || b.N != c.rows {
				t.Fatalf("%s: %d records, bad %v, %v", c.name, b.N, bad, err)
			}
			for i := range b.N {
				if b.ID[i] != "anna" || b.Time[i] != 2e9 || b.Columns[1].Levels[b.Columns[1].Code[i]] != c.kind {
					t.Errorf("%s: id %s, time %d, type %v", c.name, b.ID[i], b.Time[i], b.Columns[1].Levels)
				}
			}
			s := &model.Scores{}
			s.Reset(b.N, 2)
			var row map[string]any
			line, _, _ := strings.Cut(string(messages(t, o, &b, s, model.NewLevels(o.Schema), &carry)[0]), "\n")
			if err := json.Unmarshal([]byte(line), &row); err != nil || row["id"] != "anna" || row["ce_type"] != c.kind {
				t.Errorf("%s: %v, %v", c.name, row, err)
			}
			var l model.Labels
			if _, err := d.DecodeLabels(&m, &l); err == nil {
				t.Errorf("%s: labels without a label", c.name)
			}
		}
		m.Headers = Headers{}
		var b model.Batch
		bad, err := d.Decode(&m, &b, nil)
		if lost := fmt.Sprint(bad, err); b.N != 0 || !strings.Contains(lost, "ce_subject") {
			t.Errorf("%s, without headers: %d records, %v", c.name, b.N, lost)
		}
		o.Attributes = false
		if m.Headers.Set("ce_subject", []byte("anna")); len(m.Headers.Attributes) != 1 {
			t.Error(m.Headers)
		}
		if bad, err := mustDecoder(t, o).Decode(&m, &b, nil); b.N != 0 || err == nil && len(bad) == 0 {
			t.Errorf("%s: headers are columns where nobody asks for it", c.name)
		}
	}
}

// TestALongAttributeOfManyRows is bounded as the memory of its message is.
func TestALongAttributeOfManyRows(t *testing.T) {
	o := attributed(InputJSONL)
	o.MaxMessage = 1 << 20
	m := Message{Value: []byte(strings.Repeat(`{"x":1}`+"\n", 1000))}
	m.Headers.Set("ce_subject", []byte("a"))
	m.Headers.Set("ce_time", []byte("1970-01-01T00:00:02Z"))
	m.Headers.Set("ce_type", []byte(strings.Repeat("x", 1<<19)))
	var b model.Batch
	_, err := mustDecoder(t, o).Decode(&m, &b, nil)
	var e *MessageError
	if reflect.TypeOf(err) != reflect.TypeOf(e) || err.(*MessageError).Reason != ReasonTooLarge {
		t.Errorf("%d records, %v", b.N, err)
	}
}
