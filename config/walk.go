package config

import (
	"fmt"
	"reflect"
	"strings"
)

// member is one key of a section.
type member struct {
	key       string
	index     int
	omitEmpty bool
}

// members lists the keys of a section in the order of its struct.
func members(t reflect.Type) []member {
	var ms []member
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("yaml")
		if !ok {
			continue
		}
		key, option, _ := strings.Cut(tag, ",")
		ms = append(ms, member{key, i, option == "omitempty"})
	}
	return ms
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// isSection reports whether values of the type are mappings with fixed keys.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[scalar]())
}

// leaves calls visit for every value below v that is not a section or a list of sections, in the order of the structs:
// single values, whole lists of them, and maps. Sections that are absent are passed over; one that is switched off is a
// single value.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), path, visit)
		}
	case isOff(v):
		visit(path, reflect.ValueOf(switchedOff))
	case isSection(t):
		for _, m := range members(t) {
			leaves(v.Field(m.index), join(path, m.key), visit)
		}
	case t.Kind() == reflect.Slice && isSection(t.Elem()):
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	default:
		visit(path, v)
	}
}

// text writes a single value as a configuration has it.
func text(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Secret:
		return x.Reveal()
	case fmt.Stringer:
		return x.String()
	}
	if v.Kind() == reflect.Float64 {
		return formatFloat(v.Float())
	}
	return fmt.Sprint(v.Interface())
}

// texts writes the elements of a list, the keys and values of a map by key, or a single value.
func texts(v reflect.Value) []string {
	var ts []string
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			ts = append(ts, text(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range sortedKeys(v) {
			ts = append(ts, k, text(v.MapIndex(reflect.ValueOf(k))))
		}
	default:
		ts = append(ts, text(v))
	}
	return ts
}
