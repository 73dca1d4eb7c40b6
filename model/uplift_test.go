package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"liftstream/model/wire"
)

var upliftSchema = &Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []Feature{{Name: "x"},
	{Name: "job", Kind: Nominal}, {Name: "grade", Kind: Ordinal, Levels: []string{"low", "mid", "high"}},
	{Name: "told", Use: UseReport}}}

func upliftDraw(i, what int) float64 {
	return float64(Hash(5, uint64(i), uint64(what))>>11) / (1 << 53)
}

// upliftRow is row i: every tenth value is missing.
func upliftRow(levels *Levels, i int) Row {
	row := Row{4*upliftDraw(i, 0) - 2, Cell(levels.Code(1, fmt.Sprint("job", int(5*upliftDraw(i, 1))))),
		float64(int(3 * upliftDraw(i, 2))), upliftDraw(i, 3)}
	for f := range 3 {
		if upliftDraw(i, 10+f) < .1 {
			row[f] = math.NaN()
		}
	}
	return row
}

// TestUpliftIsARidgeRegression compares with a slow program: the normal equations of all records at once, solved by
// elimination. Tolerance 1e-9 of an effect.
func TestUpliftIsARidgeRegression(t *testing.T) {
	levels := NewLevels(upliftSchema)
	u := newUplift(upliftSchema)
	n := u.size
	a, b := make([][]float64, n), make([]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		a[i][i] = 1 / (.1 * .1 / 4) // of four features
	}
	a[0][0] = 1 / .25
	square, seen := 0., 0.
	for i := range 3000 {
		row := upliftRow(levels, i)
		u.meet(row, levels)
		p, chance, weight, treatment := .1+.3*upliftDraw(i, 4), .2+.5*upliftDraw(i, 5), .5+upliftDraw(i, 6), Untreated
		d := -chance
		if upliftDraw(i, 7) < chance {
			treatment, d = Treated, 1-chance
		}
		y := 0.
		if upliftDraw(i, 8) < p {
			y = 1
		}
		u.learn(row, levels, y == 1, p, treatment, chance, weight)
		if i < firstRecords-1 {
			continue // nothing is learnt before there are cells
		}
		u.place(row, levels)
		noise := (square + .25) / (seen + 1) / weight
		square += (y - p) * (y - p)
		seen++
		for _, j := range u.at {
			for _, k := range u.at {
				a[j][k] += d * d / noise
			}
			b[j] += d * (y - p) / noise
		}
	}
	for i := range n { // a becomes its inverse beside x, the solution, by Gauss and Jordan
		a[i] = append(a[i], make([]float64, n)...)
		a[i][n+i] = 1
	}
	for i := range n {
		pivot := a[i][i]
		for k := range a[i] {
			a[i][k] /= pivot
		}
		for j := range n {
			if f := a[j][i]; j != i && f != 0 {
				for k := range a[j] {
					a[j][k] -= f * a[i][k]
				}
			}
		}
	}
	for i := range n {
		want := 0.
		for k := range n {
			want += a[i][n+k] * b[k]
		}
		if math.Abs(u.mean[i]-want) > 1e-9 || math.Abs(u.entry(i, i)-a[i][n+i]) > 1e-9 {
			t.Errorf("effect %d is %v with variance %v, want %v with %v", i, u.mean[i], u.entry(i, i), want, a[i][n+i])
		}
	}
	for i := range 20 {
		row := upliftRow(levels, i)
		u.place(row, levels)
		mean, variance := 0., 0.
		for _, j := range u.at {
			mean += u.mean[j]
			for _, k := range u.at {
				variance += a[j][n+k]
			}
		}
		got := u.score(row, levels)
		if math.Abs(got.Value-mean) > 1e-9 || math.Abs(got.High-mean-1.959964*math.Sqrt(variance)) > 1e-9 ||
			math.Abs(got.High+got.Low-2*got.Value) > 1e-12 {
			t.Errorf("row %d: %+v, want %v with variance %v", i, got, mean, variance)
		}
	}
}

// TestUpliftFindsWhatIsPlanted: with an effect that depends on x and with none, by a policy at random and by one that
// treats the best. The interval holds the effect in nearly all records.
func TestUpliftFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct {
		name   string
		effect func(x float64) float64
		best   bool // the policy treats the best
		off    float64
	}{
		{"planted, at random", func(x float64) float64 { return .1 + .08*x }, false, .03},
		{"nothing, at random", func(float64) float64 { return 0 }, false, .03},
		{"planted, the best", func(x float64) float64 { return .1 + .03*x }, true, .07},
		{"nothing, the best", func(float64) float64 { return 0 }, true, .03},
	} {
		levels := NewLevels(upliftSchema)
		u := newUplift(upliftSchema)
		var told untreatedShare
		const n = 20_000
		off, held, count := 0., 0, 0
		for i := range n {
			row := upliftRow(levels, i)
			x := row[0]
			if math.IsNaN(x) {
				x = 0
			}
			u.meet(row, levels)
			p := .3 + .1*x
			treated := upliftDraw(i, 4) < .5
			if c.best {
				treated = p > .4 && upliftDraw(i, 4) < .9
			}
			if i > n/2 {
				s := u.score(row, levels)
				off += math.Abs(s.Value - c.effect(x))
				if s.Low <= c.effect(x) && c.effect(x) <= s.High {
					held++
				}
				count++
			}
			chance, kind := p, Untreated
			if treated {
				chance, kind = p+c.effect(x), Treated
			}
			bin := told.bin(p)
			u.learn(row, levels, upliftDraw(i, 5) < chance, p, kind, 1-told.chance(bin, .1), 1)
			told.add(bin, kind)
		}
		if off /= float64(count); off > c.off || held < count*85/100 {
			t.Errorf("%s: off by %.4f on average, and %d of %d intervals hold the effect", c.name, off, held, count)
		}
	}
}

// TestUpliftKnowsNothingAtFirst: its scores are NaN until there are cells, and then as wide as the prior.
func TestUpliftKnowsNothingAtFirst(t *testing.T) {
	levels := NewLevels(upliftSchema)
	u := newUplift(upliftSchema)
	for i := range firstRecords {
		if s := u.score(upliftRow(levels, i), levels); !math.IsNaN(s.Value) || !math.IsNaN(s.Low) || !math.IsNaN(s.High) {
			t.Fatalf("record %d: %+v", i, s)
		}
		u.meet(upliftRow(levels, i), levels)
	}
	want := 1.959964 * math.Sqrt(.25+3*.01/4) // of a row with three features that score
	if s := u.score(upliftRow(levels, 0), levels); s.Value != 0 || math.Abs(s.High-want) > 1e-9 || s.Low != -s.High {
		t.Errorf("%+v, want an interval of %v", s, want)
	}
	wide := &Schema{Classes: []string{"no", "yes"}}
	for range 200 {
		wide.Features = append(wide.Features, Feature{})
	}
	if u := newUplift(wide); u.size > upliftSize || u.cells != 2 || len(u.of) != 63 {
		t.Errorf("200 features take %d effects", u.size)
	}
	for range firstRecords {
		u.meet(make(Row, 4), levels)
	}
}

// TestUpliftStates: a state that is read goes on as the one that wrote it, before and after the cuts, and hostile bytes
// give an error.
func TestUpliftStates(t *testing.T) {
	levels := NewLevels(upliftSchema)
	u := newUplift(upliftSchema)
	learn := func(u *uplift, i int) {
		row := upliftRow(levels, i)
		u.meet(row, levels)
		u.learn(row, levels, upliftDraw(i, 5) < .3, .3, Treatment(1+i%2), .5, 1)
	}
	for i := range 600 {
		learn(u, i)
		if i != 100 && i != 500 {
			continue
		}
		q := newUplift(upliftSchema)
		b := u.append(nil)
		if err := q.read(b); err != nil {
			t.Fatal(err)
		}
		if string(q.append(nil)) != string(b) {
			t.Errorf("record %d: other bytes", i)
		}
		for k := range 300 {
			learn(q, i+1+k)
		}
		w := newUplift(upliftSchema)
		if err := w.read(b); err != nil {
			t.Fatal(err)
		}
		for k := range 300 {
			learn(w, i+1+k)
		}
		if string(q.append(nil)) != string(w.append(nil)) {
			t.Errorf("record %d: two readers learn otherwise", i)
		}
		for cut := range len(b) {
			if cut%97 == 0 || cut < 20 {
				if err := newUplift(upliftSchema).read(b[:cut]); err == nil {
					t.Errorf("record %d: the first %d bytes are read", i, cut)
				}
			}
		}
	}
	form := func(first, cuts, mean int, variance, number float64) []byte {
		b := wire.AppendUvarint(nil, upliftFormat)
		lower := make([]float64, u.size*(u.size+1)/2)
		lower[0] = variance
		for _, v := range [][]float64{make([]float64, first), make([]float64, cuts), make([]float64, mean), lower,
			{number}} {
			if len(v) == 1 {
				b = wire.AppendFloat(wire.AppendFloat(b, v[0]), 1)
				continue
			}
			b = wire.AppendFloats(b, v)
		}
		return b
	}
	inner := len(u.of) * (u.cells - 2)
	for name, b := range map[string][]byte{"a cut too many": form(0, inner+2, u.size, 1, 1),
		"an effect too few": form(0, inner, u.size-1, 1, 1), "a part of a record": form(3, 0, u.size, 1, 1),
		"too many records": form(4*firstRecords+4, 0, u.size, 1, 1), "a negative variance": form(0, inner, u.size, -1, 1),
		"not a number": form(0, inner, u.size, math.NaN(), 1), "infinite": form(0, inner, u.size, 1, math.Inf(1)),
		"negative squares": form(0, inner, u.size, 1, -1), "format": {3}} {
		if err := newUplift(upliftSchema).read(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := newUplift(upliftSchema).read(form(0, inner, u.size, 1, 1)); err != nil {
		t.Errorf("a state as it may be: %v", err)
	}
}

// TestFrequentLevelsStandApart: the most frequent levels have a cell each, whatever their texts and numbers are, and
// the others one of theirs. A state of the format before keeps its cells.
func TestFrequentLevelsStandApart(t *testing.T) {
	schema := &Schema{Features: []Feature{{Name: "v", Kind: Nominal}}, Classes: []string{"no", "yes"}}
	for most := 1; most <= 40; most++ {
		for _, form := range []string{"%d", "plan %d", "%d.5", "a%[1]db%[1]d"} {
			levels, turned := NewLevels(schema), NewLevels(schema)
			u, v := newUplift(schema), newUplift(schema)
			text := func(i int) string { return fmt.Sprintf(form, i%most) }
			for i := range most {
				turned.Code(0, text(most-1-i))
			}
			row := func(l *Levels, i int) Row { return Row{Cell(l.Code(0, text(i)))} }
			for i := range firstRecords {
				u.meet(row(levels, i*i), levels)
				v.meet(row(turned, i*i), turned)
			}
			number := map[int]int{} // of the records of a level
			for i := range firstRecords {
				number[i*i%most]++
			}
			cells, alone := map[int]int{}, 0 // the most frequent level of each cell
			for level := range number {
				cell := u.cell(0, row(levels, level), levels)
				if cell != v.cell(0, row(turned, level), turned) || cell < 0 || cell > u.cells-2 {
					t.Fatalf("%s of %d: cell %d, by other numbers %d", form, most, cell, v.cell(0, row(turned, level), turned))
				}
				cells[cell] = max(cells[cell], number[level])
			}
			counts := slices.Sorted(maps.Values(number))
			want := 0
			for _, n := range counts[max(len(counts)-(u.cells-1), 0):] {
				want += n
			}
			for _, n := range cells {
				alone += n
			}
			if alone != want {
				t.Errorf("%s of %d: the cells of %v have %v at most, %d in all, want %d", form, most, number, cells, alone, want)
			}
		}
	}
	levels, u := NewLevels(schema), newUplift(schema)
	u.apart = false
	for i := range firstRecords {
		u.meet(Row{Cell(levels.Code(0, fmt.Sprint(i%8)))}, levels)
	}
	q := newUplift(schema)
	if err := q.read(u.append(nil)); err != nil || q.apart || q.append(nil)[0] != hashedUplift {
		t.Errorf("a state of format %d: apart %v, %v", hashedUplift, q.apart, err)
	}
	var cells []int
	for level := range 8 {
		cells = append(cells, q.cell(0, Row{float64(level)}, levels))
	}
	if want := []int{3, 4, 1, 4, 3, 3, 1, 3}; !slices.Equal(cells, want) {
		t.Errorf("the levels 0 to 7 have the cells %v, want those of the former build, %v", cells, want)
	}
}
