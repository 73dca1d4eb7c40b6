// Package avro reads Avro data of schemas that a registry hands out, without trust in either: a schema may refer to
// itself, and the bytes of a message may claim any number of values. It reads values one by one and builds none.
//
// Begin at Parse and Cursor.
package avro

import (
	"errors"
	"fmt"
	"strings"

	lib "github.com/twmb/avro"
)

// Kind is the kind of a type as Avro encodes it.
type Kind uint8

const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Array
	Map
	Record
	Union
)

var kinds = map[string]Kind{"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float,
	"double": Double, "bytes": Bytes, "string": String, "fixed": Fixed, "enum": Enum, "array": Array, "map": Map,
	"record": Record, "error": Record, "union": Union}

// Type is a type of a schema. Types may refer to themselves.
type Type struct {
	Kind      Kind
	Name      string // as the schema has it
	Logical   string // such as timestamp-millis; "" = none that the kind may have
	Precision int    // of a decimal
	Scale     int
	Size      int      // of Fixed, in bytes
	Symbols   []string // of Enum
	Fields    []Field  // of Record
	Items     *Type    // of Array and Map
	Branches  []*Type  // of Union
}

// Field is a field of a record.
type Field struct {
	Name string
	Type *Type
	// Column is the text of the attribute "column", by which a schema of this program keeps a name that Avro has not; else
	// Name.
	Column string
}

const (
	maxSchema = 1 << 20 // bytes of a schema
	maxTypes  = 1 << 14 // of a schema
)

// Parse reads a schema, whose top must be a record.
func Parse(text string) (*Type, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("reading schema: it has %d bytes, at most %d are read", len(text), maxSchema)
	}
	s, err := lib.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	c := compiler{named: map[string]*Type{}}
	t, err := c.compile(s.Root(), "")
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if t.Kind != Record {
		return nil, fmt.Errorf("reading schema: its top is of type %s; a record is needed", t.Name)
	}
	return t, nil
}

type compiler struct {
	named map[string]*Type
	types int
}

var errTypes = errors.New("it has more than 16384 types")

// compile compiles a type that stands within a namespace, "" = none.
func (c *compiler) compile(n *lib.SchemaNode, within string) (*Type, error) {
	kind, ok := kinds[n.Type]
	if !ok {
		for _, full := range []string{within + "." + n.Type, n.Type} {
			if t := c.named[full]; t != nil {
				return t, nil
			}
		}
		return nil, fmt.Errorf("type %q is not defined", n.Type)
	}
	if c.types++; c.types > maxTypes {
		return nil, errTypes
	}
	t := &Type{Kind: kind, Name: n.Type, Logical: n.LogicalType, Precision: n.Precision, Scale: n.Scale, Size: n.Size,
		Symbols: n.Symbols}
	if n.Name != "" && (kind == Record || kind == Enum || kind == Fixed) {
		t.Name = n.Type + " " + n.Name
		full := n.Name
		if i := strings.LastIndexByte(full, '.'); i >= 0 {
			within = full[:i]
		} else if within = n.Namespace; within != "" {
			full = within + "." + full
		}
		c.named[full] = t // before its parts, which may refer to it
	}
	var err error
	part := func(n *lib.SchemaNode) (t *Type) {
		if err == nil {
			t, err = c.compile(n, within)
		}
		return t
	}
	switch kind {
	case Array:
		t.Items = part(n.Items)
	case Map:
		t.Items = part(n.Values)
	case Union:
		for i := range n.Branches {
			t.Branches = append(t.Branches, part(&n.Branches[i]))
		}
	case Record:
		for i := range n.Fields {
			f := &n.Fields[i]
			column, ok := f.Props["column"].(string)
			if !ok {
				column = f.Name
			}
			t.Fields = append(t.Fields, Field{f.Name, part(&f.Type), column})
		}
	}
	return t, err
}

// Value returns the branch of t that holds values, and its number: t itself, -1, where t is no union. ok is false for
// a union of several types beside null.
func (t *Type) Value() (value *Type, branch int, ok bool) {
	if t.Kind != Union {
		return t, -1, true
	}
	branch = -1
	for i, b := range t.Branches {
		switch {
		case b.Kind == Null:
		case branch >= 0 || b.Kind == Union:
			return t, -1, false
		default:
			value, branch = b, i
		}
	}
	if branch < 0 {
		return t, -1, false
	}
	return value, branch, true
}
