package infer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"liftstream/codec"
	"liftstream/model"
)

// inferRequest is the body of an infer request.
type inferRequest struct {
	ID         string                     `json:"id"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Inputs     []tensor                   `json:"inputs"`
	Outputs    []wantedOutput             `json:"outputs"`
}

// wantedOutput names an output of the answer.
type wantedOutput struct {
	Name       string                     `json:"name"`
	Parameters map[string]json.RawMessage `json:"parameters"`
}

// tensor is one input: a column of the records.
type tensor struct {
	Name       string                     `json:"name"`
	Shape      []int64                    `json:"shape"`
	Datatype   string                     `json:"datatype"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Data       json.RawMessage            `json:"data"`

	flat bool // Data is a list that quick has read
}

// metadata describes a tensor of the model.
type metadata struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

// infer answers POST /v2/models/NAME/infer.
func (s *Service) infer(r *http.Request, body []byte) ([]byte, error) {
	if err := s.named(r); err != nil {
		return nil, err
	}
	if r.Header.Get("Inference-Header-Content-Length") != "" {
		return nil, wrong(http.StatusBadRequest, "binary tensors are not read: send data as JSON")
	}
	q, err := requestOf(s, body)
	if err != nil {
		return nil, err
	}
	reasons, stated, err := parameters(q.Parameters)
	if err != nil {
		return nil, err
	}
	columns, err := s.wanted(q, reasons)
	if err != nil {
		return nil, err
	}
	lines, err := s.rows(q.Inputs)
	if err != nil {
		return nil, err
	}
	parts, err := s.score(r.Context(), lines, stated)
	if err != nil {
		return nil, err
	}
	defer give(s, parts)
	return s.tensors(q, columns, parts, len(lines)), nil
}

// requestOf reads the body of a request.
func requestOf(s *Service, body []byte) (*inferRequest, error) {
	q := &inferRequest{Inputs: make([]tensor, 0, len(s.codec.Schema.Features)+2)}
	p := quick{b: body, known: s.known}
	if p.request(q) {
		return q, nil
	}
	q = &inferRequest{}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(q); err != nil {
		return nil, wrong(http.StatusBadRequest, "not a request of the protocol: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, wrong(http.StatusBadRequest, "there is text after the request")
	}
	return q, nil
}

// parameters reads those of a request: reasons, and the partition of records without an id, -1 = none. Others are
// passed over, as the protocol asks.
func parameters(p map[string]json.RawMessage) (reasons bool, partition int, err error) {
	partition = -1
	if v, ok := p["reasons"]; ok && json.Unmarshal(v, &reasons) != nil {
		return false, -1, wrong(http.StatusBadRequest, "parameter reasons must be true or false")
	}
	if v, ok := p["partition"]; ok && (json.Unmarshal(v, &partition) != nil || partition < 0) {
		return false, -1, wrong(http.StatusBadRequest, "parameter partition must be the number of a partition")
	}
	return reasons, partition, nil
}

// wanted returns the outputs that the request names, else all; the reasons are among these where they are asked for.
func (s *Service) wanted(q *inferRequest, reasons bool) (names []string, err error) {
	known := func(name string) bool {
		return slices.ContainsFunc(s.columns, func(c codec.ColumnInfo) bool { return c.Name == name })
	}
	for _, o := range q.Outputs {
		if !known(o.Name) {
			return nil, wrong(http.StatusBadRequest, "there is no output %s; GET /v2/models/%s lists them", quoted(o.Name),
				s.o.Name)
		}
		if slices.Contains(names, o.Name) {
			return nil, wrong(http.StatusBadRequest, "output %s is asked for twice", quoted(o.Name))
		}
		names = append(names, o.Name)
	}
	if len(names) > 0 {
		return names, nil
	}
	for _, c := range s.columns {
		if !s.isReasons(c.Name) || reasons {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// largest bounds the text of the records of one request: each repeats the names of the inputs.
const largest = 24 << 20

// rows makes one JSON object of each record.
func (s *Service) rows(inputs []tensor) ([][]byte, error) {
	if len(inputs) == 0 {
		return nil, wrong(http.StatusBadRequest, "there are no inputs: one for each feature is needed")
	}
	var lines [][]byte
	seen := make(map[string]bool, len(inputs))
	size, room := 0, 0
	for k := range inputs {
		x := &inputs[k]
		fail := func(text string) ([][]byte, error) {
			f := wrong(http.StatusBadRequest, "input %s: %s", quoted(x.Name), text)
			f.column = x.Name
			return nil, f
		}
		if x.Name == "" || seen[x.Name] {
			return fail("each needs a name of its own")
		}
		seen[x.Name] = true
		if _, ok := x.Parameters["binary_data_size"]; ok {
			return fail("binary tensors are not read: send data as JSON")
		}
		n, ok := recordsOf(x.Shape)
		if !ok {
			return fail("its shape must be [N] or [N,1], for N records")
		}
		if n > int64(s.o.Limits.Rows) {
			return nil, s.tooMany()
		}
		var values [][]byte
		known := false
		if x.flat {
			values, known = x.flatValues(int(n))
		}
		if !known {
			var problem string
			if values, problem = x.values(int(n)); problem != "" {
				return fail(problem)
			}
		}
		if k == 0 {
			lines = make([][]byte, n)
			room = lineOf(inputs, int(n))
		}
		if len(values) != len(lines) {
			return fail("it has " + strconv.Itoa(len(values)) + " records, the first input " + strconv.Itoa(len(lines)))
		}
		name := quotedName(s, x.Name)
		if size += len(values) * (len(name) + 2); size > largest { // before the name is repeated
			return nil, wrong(http.StatusRequestEntityTooLarge, "the records are too large")
		}
		for i, v := range values {
			mark := byte(',')
			if k == 0 {
				mark = '{'
				lines[i] = make([]byte, 0, room)
			}
			lines[i] = append(append(append(append(lines[i], mark), name...), ':'), v...)
			size += len(v)
		}
	}
	for i := range lines {
		lines[i] = append(lines[i], '}')
	}
	return lines, nil
}

// lineOf is about the size of each of n records, 0 where they are many or large.
func lineOf(inputs []tensor, n int) (size int) {
	if n > 8 {
		return 0
	}
	for k := range inputs {
		size += len(inputs[k].Name) + len(inputs[k].Data)/max(n, 1) + 8
	}
	if size > 1<<12 {
		return 0
	}
	return size
}

// recordsOf is the number of records of a tensor of one value a record.
func recordsOf(shape []int64) (n int64, ok bool) {
	if len(shape) == 0 || shape[0] < 0 {
		return 0, false
	}
	for _, x := range shape[1:] {
		if x != 1 {
			return 0, false
		}
	}
	return shape[0], true
}

// values returns the n values as JSON, each checked against the datatype; null is a missing value.
func (x *tensor) values(n int) (out [][]byte, problem string) {
	d := json.NewDecoder(bytes.NewReader(x.Data))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return nil, "data must be a list of " + strconv.Itoa(n) + " values"
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				return nil, "data holds an object"
			case '[':
				if depth++; depth > len(x.Shape) {
					return nil, "data is nested deeper than its shape"
				}
			default:
				depth--
			}
			if depth == 0 {
				if len(out) != n {
					return nil, "data has " + strconv.Itoa(len(out)) + " values, its shape says " + strconv.Itoa(n)
				}
				return out, ""
			}
		default:
			if depth == 0 || len(out) == n {
				return nil, "data must be a list of " + strconv.Itoa(n) + " values"
			}
			text, ok := valueOf(x.Datatype, v)
			if !ok {
				return nil, "value " + strconv.Itoa(len(out)+1) + " is not of datatype " + quoted(x.Datatype)
			}
			out = append(out, text)
		}
	}
}

// digits is the most that an integer of 64 bits has, with its sign: more are not worth reading.
const digits = 20

// valueOf is a token as JSON, and whether the datatype has it.
func valueOf(datatype string, token any) (text []byte, ok bool) {
	if token == nil {
		return []byte("null"), datatypes[datatype] != 0
	}
	switch v := token.(type) {
	case bool:
		return strconv.AppendBool(nil, v), datatypes[datatype] == 'b'
	case string:
		return []byte(quoted(v)), datatypes[datatype] == 's'
	case json.Number:
		switch datatypes[datatype] {
		case 'f':
			return []byte(v), true
		case 'i':
			if len(v) > digits {
				return nil, false
			}
			n, whole := new(big.Int).SetString(string(v), 10)
			bits, _ := strconv.Atoi(strings.TrimLeft(datatype, "UINT"))
			if !whole {
				return nil, false
			}
			if datatype[0] == 'U' {
				return []byte(v), n.Sign() >= 0 && n.BitLen() <= bits
			}
			if n.Sign() < 0 {
				n.Add(n, big.NewInt(1))
			}
			return []byte(v), n.BitLen() < bits
		}
	}
	return nil, false
}

// datatypes are those of the protocol: floats, integers, booleans and strings.
var datatypes = map[string]byte{"FP16": 'f', "FP32": 'f', "FP64": 'f', "BF16": 'f', "BOOL": 'b', "BYTES": 's',
	"INT8": 'i', "INT16": 'i', "INT32": 'i', "INT64": 'i', "UINT8": 'i', "UINT16": 'i', "UINT32": 'i', "UINT64": 'i'}

// tensors writes the answer: the outputs of n records in their order.
func (s *Service) tensors(q *inferRequest, names []string, parts []scored, n int) []byte {
	at := make([]struct{ part, row int }, n)
	version := ""
	for k, p := range parts {
		for i, row := range p.rows {
			at[row].part, at[row].row = k, i
		}
	}
	if len(parts) > 0 {
		if k := parts[0].Column(codec.ScoreModel.String()); k >= 0 {
			version = string(parts[0].AppendValue(nil, k, 0))
		}
	}
	if version == "" {
		version = strconv.FormatInt(s.o.Stage.Status().Serving, 10)
	}
	b := append(make([]byte, 0, 128+len(names)*(96+16*n)), `{"model_name":`...)
	b = append(append(b, quoted(s.o.Name)...), `,"model_version":`...)
	b = append(append(append(b, '"'), version...), '"')
	if q.ID != "" {
		b = append(append(b, `,"id":`...), quoted(q.ID)...)
	}
	b = append(b, `,"outputs":[`...)
	outputs := len(b)
	for _, name := range names {
		if len(parts) == 0 || parts[0].Column(name) < 0 ||
			!s.tells(name, parts[0].Column(codec.ScoreID.String()) >= 0) {
			continue // the records have no id or time
		}
		if len(b) > outputs {
			b = append(b, ',')
		}
		// The type is that of the last record: parts may differ in that of their times.
		last := parts[at[n-1].part]
		b = append(append(b, `{"name":`...), s.quoted[name]...)
		b = append(append(b, `,"datatype":"`...), datatypeOf(last.Columns()[last.Column(name)])...)
		b = append(strconv.AppendInt(append(b, `","shape":[`...), int64(n), 10), `],"data":[`...)
		data := len(b)
		for row := range at {
			p := &parts[at[row].part]
			if row > 0 {
				b = append(b, ',')
			}
			k := p.Column(name)
			b = appendElement(b, p.Answers, p.Columns()[k], k, at[row].row)
		}
		b = append(escaped(b, data), "]}"...)
	}
	return append(b, "]}"...)
}

// escaped replaces the characters of b from one on that mean something to a page, as encoding/json does.
func escaped(b []byte, from int) []byte {
	if v := b[from:]; !bytes.ContainsAny(v, "<>&") && !bytes.Contains(v, []byte("\u2028")[:2]) {
		return b
	}
	var out bytes.Buffer
	json.HTMLEscape(&out, b[from:])
	return append(b[:from], out.Bytes()...)
}

// appendElement appends a value of an output: a string is "" where the score has none, a number null, and a list is its
// JSON text.
func appendElement(dst []byte, a *codec.Answers, c codec.ColumnInfo, column, row int) []byte {
	if datatypeOf(c) != "BYTES" {
		return a.AppendValue(dst, column, row)
	}
	from := len(dst)
	dst = a.AppendValue(dst, column, row)
	switch v := dst[from:]; {
	case string(v) == "null":
		return append(dst[:from], `""`...)
	case v[0] == '"':
		return dst
	default:
		return append(dst[:from], quoted(string(v))...)
	}
}

// datatypeOf is the datatype of a column of the scores.
func datatypeOf(c codec.ColumnInfo) string {
	switch c.Kind {
	case codec.KindInt:
		return strings.ToUpper(c.Type)
	case codec.KindFloat:
		if c.Type == "float32" {
			return "FP32"
		}
		return "FP64"
	case codec.KindBool:
		return "BOOL"
	}
	return "BYTES"
}

// named refuses a request for a model of another name.
func (s *Service) named(r *http.Request) error {
	if name := r.PathValue("model"); name != s.o.Name {
		return wrong(http.StatusNotFound, "there is no model %s; this one is %s", quoted(name), quoted(s.o.Name))
	}
	return nil
}

func (s *Service) server(*http.Request) (any, error) {
	return map[string]any{"name": "liftstream", "version": s.o.Version, "extensions": []string{}}, nil
}

func (s *Service) ready(*http.Request) (any, error) {
	ready := s.o.Stage.Status().Ready
	return map[string]bool{"ready": ready}, unready(ready)
}

func (s *Service) modelReady(r *http.Request) (any, error) {
	if err := s.named(r); err != nil {
		return nil, err
	}
	ready := s.o.Stage.Status().Ready
	return map[string]any{"name": s.o.Name, "ready": ready}, unready(ready)
}

func unready(ready bool) error {
	if ready {
		return nil
	}
	return wrong(http.StatusServiceUnavailable, "not ready")
}

func (s *Service) model(r *http.Request) (any, error) {
	if err := s.named(r); err != nil {
		return nil, err
	}
	var in, out []metadata
	add := func(name, datatype string) {
		if name != "" && !slices.ContainsFunc(in, func(m metadata) bool { return m.Name == name }) {
			in = append(in, metadata{name, datatype, []int{-1}})
		}
	}
	c := &s.codec
	for i := range c.Schema.Features {
		f, datatype := &c.Schema.Features[i], "BYTES"
		if f.Derived != "" {
			continue
		}
		if f.Kind == model.Continuous {
			datatype = "FP64"
		}
		add(f.Name, datatype)
	}
	for _, x := range c.Sources() {
		if x.Times {
			add(x.Name, "BYTES")
		} else {
			add(x.Name, "FP64")
		}
	}
	add(c.ID, "BYTES")
	add(c.Time, "BYTES")
	for _, x := range s.columns {
		out = append(out, metadata{x.Name, datatypeOf(x), []int{-1}})
	}
	return map[string]any{"name": s.o.Name, "versions": []string{strconv.FormatInt(s.o.Stage.Status().Serving, 10)},
		"platform": "liftstream", "inputs": in, "outputs": out}, nil
}
