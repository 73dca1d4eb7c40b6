package infer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"liftstream/codec"
)

// shape is the form of a plain request, and of its answer.
type shape uint8

const (
	shapeOne   shape = iota // an object
	shapeList               // a list of objects
	shapeLines              // several objects, one a line
)

// plain answers POST /v1/score.
func (s *Service) plain(r *http.Request, body []byte) ([]byte, error) {
	reasons, stated, err := asked(r.URL.Query())
	if err != nil {
		return nil, err
	}
	lines, form, err := records(body, s.o.Limits.Rows)
	if err != nil {
		return nil, err
	}
	if len(lines) > s.o.Limits.Rows {
		return nil, s.tooMany()
	}
	parts, err := s.score(r.Context(), lines, stated)
	if err != nil {
		return nil, err
	}
	defer give(s, parts)
	objects := make([][]byte, len(lines))
	for _, p := range parts {
		for i, row := range p.rows {
			objects[row] = s.object(p.Answers, i, reasons)
		}
	}
	switch form {
	case shapeOne:
		return objects[0], nil
	case shapeLines:
		return bytes.Join(objects, []byte{'\n'}), nil
	}
	return append(append([]byte{'['}, bytes.Join(objects, []byte(",\n"))...), ']'), nil
}

// object is a row of the scores topic as JSON, without its position, and without reasons unless they are asked for.
func (s *Service) object(a *codec.Answers, row int, reasons bool) []byte {
	b := append(make([]byte, 0, 1<<10), '{')
	identified := a.Column(codec.ScoreID.String()) >= 0
	for k, c := range a.Columns() {
		if !s.tells(c.Name, identified) || s.isReasons(c.Name) && !reasons {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = a.AppendValue(append(append(b, s.quoted[c.Name]...), ':'), k, row)
	}
	return append(b, '}')
}

// asked reads the parameters of a plain request: reasons, and the partition of records without an id, -1 = none.
func asked(q url.Values) (reasons bool, partition int, err error) {
	partition = -1
	for name, values := range q {
		v := values[len(values)-1]
		switch name {
		case "reasons":
			reasons, err = strconv.ParseBool(v)
		case "partition":
			partition, err = strconv.Atoi(v)
			if err == nil && partition < 0 {
				err = errors.New("negative")
			}
		default:
			return false, -1, wrong(http.StatusBadRequest, "parameter %s: there are reasons and partition", quoted(name))
		}
		if err != nil {
			return false, -1, wrong(http.StatusBadRequest, "parameter %s=%s: want reasons=true, or the number of a partition",
				name, quoted(v))
		}
	}
	return reasons, partition, nil
}

// records returns the objects of a body, each in a line of its own: one object, a list of objects, or several objects
// one after the other. It stops behind the bound.
func records(body []byte, most int) (lines [][]byte, form shape, err error) {
	var one bytes.Buffer
	one.Grow(len(body))
	if err := json.Compact(&one, body); err == nil && one.Bytes()[0] == '{' {
		return [][]byte{one.Bytes()}, shapeOne, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	fail := func(err error) ([][]byte, shape, error) {
		f := wrong(http.StatusBadRequest, "not JSON: %v", err)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			f = wrong(http.StatusBadRequest, "the JSON ends early")
		}
		f.row = len(lines) + 1
		return nil, 0, f
	}
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 {
		return nil, 0, wrong(http.StatusBadRequest, "the request is empty: it holds an object, or a list of objects")
	}
	list := text[0] == '['
	if list {
		form = shapeList
		if _, err := d.Token(); err != nil {
			return fail(err)
		}
	}
	for len(lines) <= most {
		if list && !d.More() {
			if _, err := d.Token(); err != nil {
				return fail(err)
			}
			break
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); !list && len(lines) > 0 && errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fail(err)
		}
		if raw[0] != '{' {
			f := wrong(http.StatusBadRequest, "record %d is no JSON object", len(lines)+1)
			f.row = len(lines) + 1
			return nil, 0, f
		}
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return fail(err)
		}
		lines = append(lines, line.Bytes())
	}
	if list && len(lines) <= most {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, 0, wrong(http.StatusBadRequest, "there is text after the list")
		}
	}
	if !list && len(lines) > 1 {
		form = shapeLines
	}
	return lines, form, nil
}

// quoted is a text as JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
