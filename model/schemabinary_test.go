package model

import (
	"errors"
	"reflect"
	"testing"
)

func schemaModel() (*Schema, *Model) {
	s := &Schema{
		Features: []Feature{
			{Name: "age", Monotone: Up},
			{Name: "job", Kind: Nominal, Use: UseReport},
			{Name: "education", Kind: Ordinal, Levels: []string{"low", "high"}},
		},
		Classes: []string{"no", "yes"}, Positive: 1,
	}
	l := NewLevels(s)
	l.Code(1, "clerk")
	return s, &Model{
		Version:     3,
		Fingerprint: 7,
		Levels:      l,
		Marks:       map[int32]Mark{0: {Offset: 5, Clock: 4}},
		Parts:       map[string][]byte{"lift": []byte("x")},
	}
}

func TestModelCarriesItsSchema(t *testing.T) {
	s, m := schemaModel()
	b := m.AppendBinary(nil)
	got, err := DecodeModel(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	if own := got.Schema(); own.Positive != 1 || !reflect.DeepEqual(own.Classes, s.Classes) ||
		own.Features[2].Levels[1] != "high" || own.Features[0].Monotone != Up || own.Features[1].Use != UseReport {
		t.Errorf("schema %+v, want %+v", own, s)
	}
	if again := got.AppendBinary(nil); string(again) != string(b) {
		t.Error("decoding and encoding again gives other bytes")
	}
}

func TestModelOfAnotherSchemaIsForeign(t *testing.T) {
	s, m := schemaModel()
	b := m.AppendBinary(nil)
	fewer, renamed, classes := *s, *s, *s
	fewer.Features = s.Features[:2]
	renamed.Features = append([]Feature{{Name: "Age"}}, s.Features[1:]...)
	classes.Classes = []string{"a", "b", "c"}
	for _, other := range []*Schema{&fewer, &renamed, &classes} {
		if _, err := DecodeModel(other, b); !errors.Is(err, ErrModelForeign) {
			t.Errorf("schema %+v: error %v, want ErrModelForeign", other, err)
		}
	}
	if _, err := DecodeModel(s, b); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeModelWithItsOwnSchema(f *testing.F) {
	_, m := schemaModel()
	f.Add(m.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := DecodeModel(nil, b); err == nil {
			got.Schema()
		}
	})
}

// TestAModelKnowsItsLearntLevels: nil stands for levels that are learnt, and a component tells by it (trees).
func TestAModelKnowsItsLearntLevels(t *testing.T) {
	s, m := schemaModel()
	read, err := DecodeModel(nil, m.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Schema(), s) {
		t.Errorf("the schema %+v was read as %+v", s, read.Schema())
	}
}
