package codec

import (
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// AttributePrefix begins the headers that hold attributes of CloudEvents (its binding for Kafka, binary mode), and the
// columns that they are with Options.Attributes, such as ce_subject.
const AttributePrefix = "ce_"

// Attribute is such a header.
type Attribute struct {
	Name  string // with the prefix
	Value []byte
}

// attribute is the value of an attribute, the last one of its name; ok is false where there is none.
func (h *Headers) attribute(name string) (value []byte, ok bool) {
	for _, a := range slices.Backward(h.Attributes) {
		if a.Name == name {
			return a.Value, true
		}
	}
	return nil, false
}

// isAttribute reports whether a column is an attribute.
func (o *Options) isAttribute(column string) bool {
	return o.Attributes && strings.HasPrefix(column, AttributePrefix)
}

// addAttributes gives row n of a message of JSON its attributes. A key of the object goes before the attribute of its
// name.
func (k *intake) addAttributes(x *objects, n int32) {
	for i := range x.columns {
		c := &x.columns[i]
		if c.seen == n || !k.d.o.isAttribute(c.name) {
			continue
		}
		value, ok := k.headers.attribute(c.name)
		if ok && k.d.in.account.take(int64(len(value))) {
			c.seen = n
			k.add(c, jsonValue{jsonString, value}, n)
		}
	}
}

// attributeFields appends a column for each attribute that the contract names and a schema of Avro has no field for.
func (k *intake) attributeFields(fields []arrow.Field) []arrow.Field {
	for _, stage := range []string{StageEvents, StageLabels} {
		for _, r := range rolesOf(k.d, &plan{}, stage) {
			if k.d.o.isAttribute(r.name) &&
				!slices.ContainsFunc(fields, func(f arrow.Field) bool { return f.Name == r.name }) {
				fields = append(fields, arrow.Field{Name: r.name, Type: arrow.BinaryTypes.String, Nullable: true})
			}
		}
	}
	return fields
}

// appendAttributes gives the row of a message of Avro its attributes.
func (r *avroRoles) appendAttributes(h *Headers) {
	for c, name := range r.attributes {
		to := r.values[c].(*array.StringBuilder)
		if value, ok := h.attribute(name); ok {
			to.BinaryBuilder.Append(value)
		} else {
			to.AppendNull()
		}
	}
}
