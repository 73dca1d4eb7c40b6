package infer

import (
	"net/http"
	"testing"
)

// BenchmarkOneRecord is a request of one record, without the network.
func BenchmarkOneRecord(b *testing.B) {
	w := newWorld(b, "http: {score: {rate: 0}}\n", nil)
	body := `{"customer": "` + idOf(0, 0) + `", "age": 41.5, "plan": "plus"}`
	b.ReportAllocs()
	for b.Loop() {
		if got := w.send("POST", "/v1/score", body); got.Code != http.StatusOK {
			b.Fatal(got.Body.String())
		}
	}
}
