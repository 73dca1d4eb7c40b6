package infer

import (
	"net/http"
	"testing"
)

// BenchmarkOneRecord is a request of one record, without the network, by the open inference protocol and as plain JSON.
func BenchmarkOneRecord(b *testing.B) {
	for name, x := range map[string]struct{ path, body string }{
		"plain": {"/v1/score", `{"customer": "` + idOf(0, 0) + `", "age": 41.5, "plan": "plus"}`},
		"infer": {"/v2/models/shop/infer", `{"inputs": [{"name": "customer", "shape": [1], "datatype": "BYTES", "data": ["` +
			idOf(0, 0) + `"]}, {"name": "age", "shape": [1], "datatype": "FP64", "data": [41.5]}, ` +
			`{"name": "plan", "shape": [1], "datatype": "BYTES", "data": ["plus"]}],
			"outputs": [{"name": "propensity_yes"}, {"name": "lift"}, {"name": "status"}]}`},
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, "http: {score: {rate: 0}}\n", nil)
			b.ReportAllocs()
			for b.Loop() {
				if got := w.send("POST", x.path, x.body); got.Code != http.StatusOK {
					b.Fatal(got.Body.String())
				}
			}
		})
	}
}
