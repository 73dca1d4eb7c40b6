package portable

import (
	"encoding/binary"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// graph is an ONNX graph in the making, in the encoding of protocol buffers: the field numbers are those of onnx.proto
// of ONNX 1.12 (github.com/onnx/onnx).
type graph struct {
	body    []byte // fields of GraphProto
	tensors int
	value   []column // of the continuous features
}

// Element types of tensors.
const (
	onnxInt    = 7
	onnxString = 8
	onnxDouble = 11
)

// Versions that every runtime of ONNX 1.12 or later reads.
const (
	onnxIR    = 8
	onnxOpset = 17
	onnxML    = 3
)

func bytesField(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func textField(b []byte, field protowire.Number, v string) []byte {
	return bytesField(b, field, []byte(v))
}

func intField(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

// fresh returns the name of a new tensor.
func (g *graph) fresh() string {
	g.tensors++
	return "ls:" + strconv.Itoa(g.tensors)
}

// node adds an operator and returns the name of its only output.
func (g *graph) node(op string, inputs ...string) string { return g.attributed(op, "", nil, inputs...) }

// attributed adds an operator of a domain with attributes, each an AttributeProto.
func (g *graph) attributed(op, domain string, attributes [][]byte, inputs ...string) string {
	var n []byte
	for _, in := range inputs {
		n = textField(n, 1, in)
	}
	out := g.fresh()
	n = textField(textField(n, 2, out), 4, op)
	for _, a := range attributes {
		n = bytesField(n, 5, a)
	}
	if domain != "" {
		n = textField(n, 7, domain)
	}
	g.body = bytesField(g.body, 1, n)
	return out
}

// name gives a tensor another name.
func (g *graph) name(name, tensor string) {
	n := textField(textField(textField(nil, 1, tensor), 2, name), 4, "Identity")
	g.body = bytesField(g.body, 1, n)
}

// Kinds of attributes.
const (
	attributeInt     = 2
	attributeInts    = 7
	attributeStrings = 8
)

func intAttribute(name string, v int64) []byte {
	return intField(intField(textField(nil, 1, name), 3, v), 20, attributeInt)
}

func (g *graph) cast(tensor string, to int64) string {
	return g.attributed("Cast", "", [][]byte{intAttribute("to", to)}, tensor)
}

// encode gives each text its code, rest to a text that is none of the keys.
func (g *graph) encode(tensor string, keys []string, codes []int64, rest int64) string {
	k, v := textField(nil, 1, "keys_strings"), textField(nil, 1, "values_int64s")
	for i := range keys {
		k, v = textField(k, 9, keys[i]), intField(v, 8, codes[i])
	}
	return g.attributed("LabelEncoder", "ai.onnx.ml", [][]byte{intField(k, 20, attributeStrings),
		intField(v, 20, attributeInts), intAttribute("default_int64", rest)}, tensor)
}

// floats and ints add a constant of the dimensions; none is a scalar.
func (g *graph) floats(v []float64, dims ...int64) string {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	return g.constant(onnxDouble, raw, dims)
}

func (g *graph) ints(v []int64, dims ...int64) string {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	return g.constant(onnxInt, raw, dims)
}

func (g *graph) constant(kind int64, raw []byte, dims []int64) string {
	var t []byte
	for _, d := range dims {
		t = intField(t, 1, d)
	}
	name := g.fresh()
	t = bytesField(textField(intField(t, 2, kind), 8, name), 9, raw)
	g.body = bytesField(g.body, 5, t)
	return name
}

// input and output announce a tensor of records x 1.
func (g *graph) input(name string, kind int64) { g.announce(11, name, kind) }
func (g *graph) output(name string)            { g.announce(12, name, onnxDouble) }

func (g *graph) announce(field protowire.Number, name string, kind int64) {
	records, one := bytesField(nil, 1, textField(nil, 2, "records")), bytesField(nil, 1, intField(nil, 1, 1))
	tensor := bytesField(intField(nil, 1, kind), 2, append(records, one...))
	g.body = bytesField(g.body, field, bytesField(textField(nil, 1, name), 2, bytesField(nil, 1, tensor)))
}

// model returns the whole ModelProto.
func (g *graph) model(about string) []byte {
	b := textField(textField(intField(nil, 1, onnxIR), 2, "liftstream"), 6, about)
	b = bytesField(b, 7, textField(g.body, 2, "scorecard"))
	b = bytesField(b, 8, intField(textField(nil, 1, ""), 2, onnxOpset))
	return bytesField(b, 8, intField(textField(nil, 1, "ai.onnx.ml"), 2, onnxML))
}
