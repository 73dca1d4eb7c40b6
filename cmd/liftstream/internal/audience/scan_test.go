package audience

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// TestEachScoreOfALongMessageHasItsOwnPlace: a message of more lines than a table holds comes in several tables, whose
// rows are counted on. By its place a member is found again, so no two scores may share one.
func TestEachScoreOfALongMessageHasItsOwnPlace(t *testing.T) {
	const n = 2*file.DefaultRows + 100
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"c%d","source_row":%d,"propensity_yes":%.6f}`+"\n", i, i, float64(n-i)/(n+1))
	}
	r := &txn.Record{Topic: "scores", Partition: 2, Offset: 7, Value: []byte(b.String())}
	r.Headers = scores.Headers(&txn.Record{Topic: "events", Partition: 2, Offset: 5}, "shop", n, 1)
	topic := Topic{Name: "scores", Stage: "shop", Most: 1 << 24, Plain: &codec.Plain{},
		Unread: func(err error) { t.Error(err) }}
	tables := 0
	scan := func(ctx context.Context, f func(t *codec.Table, at Place, time int64) error) error {
		return topic.message(ctx, r, func(t *codec.Table, at Place, time int64) error {
			tables++
			return f(t, at, time)
		})
	}
	places := map[Place]bool{}
	err := scan(t.Context(), func(x *codec.Table, at Place, _ int64) error {
		for i := range x.Rows() {
			p := at
			p.Row += int32(i)
			places[p] = true
		}
		return nil
	})
	if err != nil || len(places) != n || !places[Place{2, 7, n - 1}] || tables != 3 {
		t.Fatalf("%d places of %d scores in %d tables, %v", len(places), n, tables, err)
	}
	a, err := Choose(t.Context(), scan, Choice{Class: "yes", Cut: Cut{Top: n - 10}, Most: n})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = a.Write(t.Context(), func(x *codec.Table) error {
		for i := range x.Rows() {
			id, _ := x.Text(x.Column("id"), i)
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil || len(ids) != n-10 {
		t.Fatalf("%d members, %v", len(ids), err)
	}
	for i, id := range ids {
		if id != fmt.Sprint("c", i) {
			t.Fatalf("member %d is %s", i, id)
		}
	}
}
