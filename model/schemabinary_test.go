package model

import (
	"errors"
	"reflect"
	"strings"
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

// TestSchemasOfDerivedFeatures: an expression is kept beside all else that a feature can have, and another one is
// another feature.
func TestSchemasOfDerivedFeatures(t *testing.T) {
	s, m := schemaModel()
	plain := s.AppendBinary(nil)
	s.Features[0].Derived, s.Features[0].Cuts = "log(x)", []float64{1, 2}
	s.Features[2].Derived = "bucket(x, 1)"
	m.Levels = NewLevels(s)
	b := m.AppendBinary(nil)
	got, err := DecodeModel(s, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Schema(), s) {
		t.Errorf("schema %+v, want %+v", got.Schema(), s)
	}
	other := *s
	other.Features = append([]Feature{}, s.Features...)
	other.Features[0].Derived = "log(y)"
	if _, err := DecodeModel(&other, b); !errors.Is(err, ErrModelForeign) || !strings.Contains(err.Error(), "log(x)") {
		t.Errorf("of another expression: error %v, want ErrModelForeign", err)
	}
	c, err := Relate(s, &other)
	if err != nil || !reflect.DeepEqual(c.Feature, []int{-1, 1, 2}) {
		t.Errorf("of another expression: features %v, %v", c.Feature, err)
	}
	s.Features[0].Derived, s.Features[0].Cuts, s.Features[2].Derived = "", nil, ""
	if string(s.AppendBinary(nil)) != string(plain) {
		t.Error("a schema without expressions has other bytes")
	}
}

// TestPartsOfTheOwnDateAreNotWatched: hours and weekdays of the record's own time move all the while, and give no
// alarm; those of a column do.
func TestPartsOfTheOwnDateAreNotWatched(t *testing.T) {
	for text, want := range map[string]bool{"hour(time)": true, "weekday(time, zone=Europe/Berlin)": true,
		"bucket(hour(time), 6)": true, "log(day(time))": true, "month(time)": true, "": false, "hour(timely)": false,
		"age(when, d)": false, "ratio(hour(timely), hour(time))": true, "hour(\"time\")": false, "log(x)": false,
		"hour(time": false, "since_last()": true, "count(30d, kind=visit)": true, "log(count)": false} {
		if f := (Feature{Derived: text}); f.OfClock() != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	days := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	alarms := func(of string) int {
		s := &Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []Feature{
			{Name: "hour", Derived: "hour(" + of + ")"},
			{Name: "weekday", Kind: Ordinal, Levels: days, Derived: "weekday(" + of + ")"}}}
		w := NewWatch(s, .01, false)
		b := &Batch{N: 1, Columns: []Column{{Float: []float64{0}}, {Code: []uint32{0}, Levels: days}}}
		for i := range 14_000 { // four weeks of 500 records a day
			day := i / 500
			b.Columns[0].Float[0], b.Columns[1].Code[0] = float64(i%500*24/500), uint32(day%7)
			WatchRecord(w, s, b, 0, int32(i), nil, false)
		}
		return len(w.Found(0))
	}
	if n := alarms("time"); n != 0 {
		t.Errorf("%d alarms of parts of the own time", n)
	}
	if n := alarms("when"); n == 0 {
		t.Error("no alarms of parts of another time that moves")
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
