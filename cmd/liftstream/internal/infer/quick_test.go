package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"liftstream/model"
)

// askedFor are requests of every kind, good and bad ones: path and body.
func askedFor() (out [][2]string) {
	a, b := idOf(0, 0), idOf(1, 0)
	for _, body := range []string{
		`{"customer": "` + a + `", "age": 41.5, "plan": "plus"}`, `{"age": 41, "plan": "base", "customer": "` + b + `"}`,
		`{"customer": "` + a + `", "age": -0.0, "plan": "never seen <&>` + "\u2028" + `"}`, `{"age": 20, "plan": null}`,
		`{"customer": "` + a + `", "age": null, "plan": true, "extra": [1, {"a": 2}]}`, `{"customer": "x", "age": 1}`,
		`{"customer": 12, "age": 7, "plan": 1e3, "extra": 5}`, `{"customer": "a", "age": "old", "plan": "plus"}`,
		`[{"customer": "` + a + `", "age": 1, "plan": "plus"}, {"customer": "` + b + `", "age": 2.5, "plan": "base"}]`,
		`{"customer": "` + a + `", "age": 3, "plan": "a"}` + "\n" + `{"customer": "` + a + `", "age": 4, "plan": "b"}`,
		`{"age": 3, "plan": "a", "y": "yes"} x`, `[{"age": 3, "plan": "a"}, {"age": 4}]`, `{"plan": "a"}`, `{}`, `[]`,
		`{"customer": "", "age": 3, "plan": "a"}`, `{"customer": "` + a + `", "age": 41.5, "plan": "plus"}`,
	} {
		out = append(out, [2]string{"/v1/score", body}, [2]string{"/v1/score?reasons=true", body})
	}
	tensors := func(id, age, plan string) string {
		return `{"inputs": [{"name": "customer", "shape": [1], "datatype": "BYTES", "data": [` + id + `]},
			{"name": "age", "shape": [1, 1], "datatype": "FP64", "data": [` + age + `]},
			{"name":"plan","shape":[1],"datatype":"BYTES","data":[` + plan + `]}], "outputs": [{"name": "reason"},
			{"name": "subspace"}, {"name": "propensity_yes"}, {"name": "id"}, {"name": "why"}, {"name": "control"}]}`
	}
	one := tensors(`"`+a+`"`, "41.5", `"plus"`)
	for _, body := range []string{
		one, tensors(`"`+b+`"`, "41", `"base"`), tensors(`"\u00e9<&>"`, "null", `"plus <b>"`), tensors(`7`, "41", `"plus"`),
		tensors(`"`+a+`"`, "[41.5]", `"plus"`), tensors(`"`+a+`"`, "1, 2", `"plus"`), tensors(`"`+a+`"`, "", `"plus"`),
		strings.Replace(one, "FP64", "INT8", 1), strings.Replace(one, `"FP64", "data": [41.5]`, `"INT8", "data": [-128]`, 1),
		strings.Replace(one, `"FP64", "data": [41.5]`, `"INT8", "data": [128]`, 1),
		strings.Replace(one, `"FP64", "data": [41.5]`, `"UINT64", "data": [18446744073709551615]`, 1),
		strings.Replace(one, `"FP64", "data": [41.5]`, `"UINT16", "data": [-0]`, 1),
		strings.Replace(one, `"FP64", "data": [41.5]`, `"BOOL", "data": [true]`, 1),
		strings.Replace(one, `"inputs"`, `"id": "q<7>", "inputs"`, 1), strings.Replace(one, `"inputs"`, `"INPUTS"`, 1),
		strings.Replace(one, `"inputs"`, `"parameters": {"reasons": true}, "inputs"`, 1), one + "{}", one[:len(one)-1],
		one[:strings.Index(one, `, "outputs"`)] + "}", strings.Replace(one, `"age"`, `"extra"`, 1), one,
	} {
		out = append(out, [2]string{"/v2/models/shop/infer", body})
	}
	return out
}

// TestNoRequestKnowsThoseBefore: an answer is that of a service that has answered nobody yet, whichever others were
// asked for before it and beside it.
func TestNoRequestKnowsThoseBefore(t *testing.T) {
	const many = "http: {score: {rate: 0, requests: 64}}\n"
	requests := askedFor()
	want := make([]string, len(requests))
	codes := map[int]int{}
	shown := func(w *world, r [2]string) string {
		got := w.send("POST", r[0], r[1])
		codes[got.Code]++
		return fmt.Sprint(got.Code, got.Header(), got.Body.String())
	}
	for k, r := range requests {
		want[k] = shown(newWorld(t, many, nil), r)
	}
	if codes[200] < 30 || codes[400] < 15 {
		t.Errorf("statuses %v", codes)
	}
	var turn sync.Mutex // of the partition, which one task moves
	w := newWorld(t, many, func(o *Options) {
		ask := o.Stage.Ask
		o.Stage.Ask = func(ctx context.Context, p int, b *model.Batch, use func(s *model.Scores, l *model.Levels)) error {
			turn.Lock()
			defer turn.Unlock()
			return ask(ctx, p, b, use)
		}
	})
	for seed := range 3 {
		for k := range requests {
			at := (k*(2*seed+1) + seed) % len(requests)
			if got := shown(w, requests[at]); got != want[at] {
				t.Errorf("%v is answered\n%s\nwant\n%s", requests[at], got, want[at])
			}
		}
	}
	var askers sync.WaitGroup
	for n := range 8 {
		askers.Go(func() {
			for k := range requests {
				at := (k*(2*n+1) + n) % len(requests)
				got := w.send("POST", requests[at][0], requests[at][1])
				if text := fmt.Sprint(got.Code, got.Header(), got.Body.String()); text != want[at] {
					t.Errorf("beside others %v is answered\n%s\nwant\n%s", requests[at], text, want[at])
				}
			}
		})
	}
	askers.Wait()
}

// FuzzQuick: what quick reads of a request is what encoding/json reads, and the records are the same.
func FuzzQuick(f *testing.F) {
	for _, r := range askedFor() {
		f.Add([]byte(r[1]))
	}
	for _, text := range []string{`{"id":"a","id":"b"}`, `{"inputs":[{"shape":[01]}]}`, `{"outputs":[{"name":"a"},]}`,
		`{"inputs":[{"name":"a","data":[1,"b",true,null,-1.5e+3]}]}`, `{"inputs":[{"data":[1.]}]}`, `{"id":"` + "\x80" + `"}`,
		`{"inputs":[{"name":"a","shape":[2],"datatype":"INT64","data":[9223372036854775807,-9223372036854775808]}]}`,
		`{"inputs":[{"name":"a","shape":[1],"datatype":"8","data":[1]}]}`, `{"inputs":null}`, `{"id":" "} `} {
		f.Add([]byte(text))
	}
	w := newWorld(f, "", nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want inferRequest
		p := quick{b: body, known: w.service.known}
		if !p.request(&got) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(body))
		if err := d.Decode(&want); err != nil || d.More() {
			t.Fatalf("%q is read, though %v", body, err)
		}
		gotLines, gotErr := w.service.rows(got.Inputs)
		wantLines, wantErr := w.service.rows(want.Inputs)
		if fmt.Sprintf("%q %v", gotLines, gotErr) != fmt.Sprintf("%q %v", wantLines, wantErr) {
			t.Errorf("%q:\n%q %v, want\n%q %v", body, gotLines, gotErr, wantLines, wantErr)
		}
		for i := range got.Inputs {
			got.Inputs[i].flat = false
			if len(got.Inputs[i].Shape)+len(want.Inputs[i].Shape) == 0 {
				got.Inputs[i].Shape, want.Inputs[i].Shape = nil, nil
			}
		}
		if got.ID != want.ID || len(got.Inputs) != len(want.Inputs) || len(got.Outputs) != len(want.Outputs) ||
			len(got.Inputs) > 0 && !reflect.DeepEqual(got.Inputs, want.Inputs) ||
			len(got.Outputs) > 0 && !reflect.DeepEqual(got.Outputs, want.Outputs) {
			t.Errorf("%q:\n%+v, want\n%+v", body, got, want)
		}
	})
}

// TestUsualRequestsAreQuick: one of each kind is read by quick, so that the cost of it is known.
func TestUsualRequestsAreQuick(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, r := range askedFor() {
		if r[0] != "/v2/models/shop/infer" {
			continue
		}
		var q inferRequest
		p := quick{b: []byte(r[1]), known: w.service.known}
		if !p.request(&q) || len(q.Inputs) != 3 || len(q.Outputs) != 6 {
			t.Errorf("%s: %+v", r[1], q)
		}
		break
	}
}
