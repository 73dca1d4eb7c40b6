package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// sendNumbers sends n labelled records whose nominal feature holds numbers.
func (w *world) sendNumbers(n int) {
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "c", Type: arrow.BinaryTypes.String},
		{Name: "y", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	x := sample.Records(0, n)
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprint(i))
		b.Field(1).(*array.Float64Builder).Append(x.Columns[0].Float[i])
		b.Field(2).(*array.StringBuilder).Append([]string{"2.0", "1.0", "true"}[i%3])
		b.Field(3).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err == nil {
		err = w.Client.Produce(w.T.Context(), []txn.Record{{Topic: w.Topics.Events, Value: v}}, txn.None)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// A stage of an earlier build kept 1.0 as it stood, where this build keeps 1. Its work is verified with its texts.
func TestVerifyWithTheLevelsOfAnEarlierBuild(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		raw := wire.AppendStrings(wire.AppendStrings(wire.AppendUvarint(nil, 2), nil), []string{"1.0", "2.00"})
		spelling, err := model.SpellingOf(sample.Schema, raw)
		if err != nil {
			t.Fatal(err)
		}
		o := w.options(w.Client)
		o.Spec.Options.Spelling = spelling
		w.sendNumbers(300)
		r := w.run(o)
		w.caught(r)
		w.sendNumbers(300)
		w.caught(r)
		r.end(t)
		all := slices.Concat(values(w.Records(w.Topics.Scores, 0))...)
		if !strings.Contains(string(all), "2.00") {
			t.Fatal("the scores do not show the texts of before")
		}
		found, err := verified(t.Context(), w.options(w.Client))
		if err != nil {
			t.Fatal(err)
		}
		if v := found[0]; len(v.Problems) > 0 || v.Messages != 2 || v.States == 0 || v.Start != "the beginning" ||
			!strings.Contains(v.Because, `"2.00" of c`) {
			t.Errorf("%+v", v)
		}
	})
}

func values(records []txn.Record) (out [][]byte) {
	for i := range records {
		out = append(out, records[i].Value)
	}
	return out
}
