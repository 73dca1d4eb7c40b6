package modeltest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Inside adds all numbers and texts that can be reached from v, in fields that are not exported too: the content of a
// state by the names of its fields. The elements of a list share a name, so that a line tells of all their values: of
// more than four their number, the first one, their sum, and a sum in which each counts by its position. Left out are
// bytes, functions, and the types of skip by their names, such as "model.Spec". v must not change meanwhile.
func (f *Figures) Inside(name string, v any, skip ...string) {
	w := inside{skip: map[string]bool{}, seen: map[seenAt]bool{}, values: map[string]*gathered{}}
	for _, s := range skip {
		w.skip[s] = true
	}
	w.walk(name, reflect.ValueOf(v))
	for _, path := range w.order {
		w.values[path].add(f, path)
	}
}

type seenAt struct {
	at uintptr
	of reflect.Type
}

type inside struct {
	skip   map[string]bool
	seen   map[seenAt]bool
	values map[string]*gathered
	order  []string
}

// gathered are the values of one path: of one kind, but for those of an interface.
type gathered struct {
	floats []float64
	whole  []uint64 // negative ones as their two's complement
	texts  []string
}

// fewValues is the number of values of a path that are written one by one.
const fewValues = 4

func (g *gathered) add(f *Figures, path string) {
	switch n := len(g.texts); {
	case n > fewValues:
		h := fnv.New32a()
		for _, s := range g.texts {
			_, _ = fmt.Fprintf(h, "%q", s)
		}
		f.Add(path, n, "texts", g.texts[0], fmt.Sprintf("#%x", h.Sum32()))
	case n > 0:
		f.Add(path, g.texts)
	}
	switch n := len(g.whole); {
	case n > fewValues:
		sum, byPlace := uint64(0), uint64(0)
		for i, v := range g.whole {
			sum += v
			byPlace += v * uint64(2*i+1)
		}
		f.Add(path, n, "whole", int64(g.whole[0]), int64(sum), int64(byPlace))
	case n > 0:
		line := make([]any, n)
		for i, v := range g.whole {
			line[i] = int64(v)
		}
		f.Add(path, line...)
	}
	switch n := len(g.floats); {
	case n > fewValues:
		g.addFloats(f, path)
	case n > 0:
		f.Add(path, g.floats)
	}
}

func (g *gathered) addFloats(f *Figures, path string) {
	sum, byPlace, undefined := 0., 0., 0
	for i, v := range g.floats {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			undefined += i + 1
			continue
		}
		sum += v
		byPlace += v * (1 + float64(i%97)/97 + float64(i%89)/89)
	}
	line := []any{len(g.floats), g.floats[0], sum, byPlace}
	if undefined > 0 {
		line = append(line, "undefined", undefined)
	}
	f.Add(path, line...)
}

func (w *inside) at(path string) *gathered {
	g := w.values[path]
	if g == nil {
		g = &gathered{}
		w.values[path], w.order = g, append(w.order, path)
	}
	return g
}

// left reports whether a type is left out.
func (w *inside) left(t reflect.Type) bool {
	return w.skip[t.String()] || strings.HasPrefix(t.String(), "sync.") || strings.HasPrefix(t.String(), "atomic.") ||
		t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func (w *inside) walk(path string, v reflect.Value) {
	if !v.IsValid() || w.left(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		g := w.at(path)
		g.floats = append(g.floats, v.Float())
	case reflect.Bool:
		g, n := w.at(path), uint64(0)
		if v.Bool() {
			n = 1
		}
		g.whole = append(g.whole, n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		g := w.at(path)
		g.whole = append(g.whole, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		g := w.at(path)
		g.whole = append(g.whole, v.Uint())
	case reflect.String:
		g := w.at(path)
		g.texts = append(g.texts, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			w.walk(path+"[]", v.Index(i))
		}
	case reflect.Map:
		w.mapping(path, v)
	case reflect.Pointer:
		w.pointer(path, v)
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(path+"("+strings.TrimPrefix(v.Elem().Type().String(), "*")+")", v.Elem())
		}
	}
}

func (w *inside) pointer(path string, v reflect.Value) {
	if v.IsNil() || w.left(v.Type().Elem()) {
		return
	}
	at := seenAt{v.Pointer(), v.Type()}
	if w.seen[at] {
		return
	}
	w.seen[at] = true
	w.walk(path, v.Elem())
}

// mapping takes the values in the order of their keys, which are values too.
func (w *inside) mapping(path string, v reflect.Value) {
	keys := v.MapKeys()
	text := func(k reflect.Value) string { return fmt.Sprintf("%20v", k) }
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(text(a), text(b)) })
	for _, k := range keys {
		w.walk(path+"{key}", k)
		w.walk(path+"{}", v.MapIndex(k))
	}
}
