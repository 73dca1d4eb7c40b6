package avro

import (
	"fmt"
	"strings"
	"testing"
)

// fields is a schema of a record with n fields of type int.
func fields(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"f%d","type":"int"}`, i)
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(list, ",") + `]}`
}

// TestSchemasThatAreNotRead: each bound has a schema at it that is read, and one beyond that is not.
func TestSchemasThatAreNotRead(t *testing.T) {
	blank := strings.Repeat(" ", maxSchema-len(fields(1)))
	for name, c := range map[string]struct{ schema, want string }{
		"as many types":  {fields(maxTypes - 1), ""},
		"too many types": {fields(maxTypes), "more than 16384 types"},
		"as many bytes":  {fields(1) + blank, ""},
		"too many bytes": {fields(1) + blank + " ", "it has 1048577 bytes"},
		"no record":      {`{"type":"array","items":"int"}`, "its top is of type array"},
		"no schema":      {`{"type":`, "reading schema"},
		"unknown type":   {`{"type":"record","name":"R","fields":[{"name":"x","type":"S"}]}`, "reading schema"},
	} {
		_, err := Parse(c.schema)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestTypesByName: a name stands for its type, within its namespace and by its whole name, also in the type itself. A
// field has the column that its attribute says.
func TestTypesByName(t *testing.T) {
	r, err := Parse(`{"type":"record","name":"R","namespace":"a.b","fields":[
		{"name":"self","type":["null","R"]}, {"name":"whole","type":["null","a.b.R"]},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["x","y"]}}, {"name":"again","type":"a.b.E"},
		{"name":"inner","type":{"type":"record","name":"c.S","fields":[{"name":"e","type":"a.b.E"},
			{"name":"s","type":["null","S"]}]}}, {"name":"d","type":"double","column":"two words"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	f := r.Fields
	for _, i := range []int{0, 1} {
		if v, branch, ok := f[i].Type.Value(); v != r || branch != 1 || !ok {
			t.Errorf("field %s: %+v, branch %d, %v", f[i].Name, v, branch, ok)
		}
	}
	inner := f[4].Type
	if f[2].Type.Kind != Enum || f[3].Type != f[2].Type || inner.Fields[0].Type != f[2].Type ||
		inner.Fields[1].Type.Branches[1] != inner {
		t.Errorf("types by name: %+v", f)
	}
	if f[5].Column != "two words" || f[4].Column != "inner" {
		t.Errorf("columns %q and %q", f[5].Column, f[4].Column)
	}
}

// TestTheBranchOfValues: a union of null and one other type has values of that one; of several, none is known.
func TestTheBranchOfValues(t *testing.T) {
	for union, c := range map[string]struct {
		kind   Kind
		branch int
		ok     bool
	}{`"int"`: {Int, -1, true}, `["null","int"]`: {Int, 1, true}, `["string","null"]`: {String, 0, true},
		`["long"]`: {Long, 0, true}, `["null","int","long"]`: {Union, -1, false}, `["null"]`: {Union, -1, false}} {
		r, err := Parse(`{"type":"record","name":"R","fields":[{"name":"x","type":` + union + `}]}`)
		if err != nil {
			t.Fatalf("%s: %v", union, err)
		}
		if v, branch, ok := r.Fields[0].Type.Value(); v.Kind != c.kind || branch != c.branch || ok != c.ok {
			t.Errorf("%s: kind %d, branch %d, %v", union, v.Kind, branch, ok)
		}
	}
}
