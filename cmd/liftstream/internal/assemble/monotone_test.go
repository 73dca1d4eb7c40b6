package assemble

import (
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// bankHead is the head of a configuration of the records of the example, as far as they are known before a call.
const bankHead = `
name: bank
record:
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: age, kind: continuous}
    - {name: job, kind: nominal}
    - {name: balance, kind: continuous}
    - {name: housing, kind: nominal}
    - {name: contact, kind: nominal}
    - {name: day, kind: continuous}
    - {name: month, kind: nominal}
    - {name: campaign, kind: continuous}
    - {name: pdays, kind: continuous}
    - {name: previous, kind: continuous}
    - {name: poutcome, kind: nominal}
fit: {warmup: 400}
`

func bankBatch(t *testing.T, s *model.Schema) *model.Batch {
	rows := modeltest.CSV(t, filepath.Join("..", "..", "examples", "bank.csv"))
	b := &model.Batch{Columns: make([]model.Column, len(s.Features))}
	at := map[string]int{}
	for c, name := range rows[0] {
		at[name] = c
	}
	codes := make([]map[string]uint32, len(s.Features))
	for _, r := range rows[1:] {
		b.N++
		y := int32(0)
		if r[at["class"]] == "yes" {
			y = 1
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(b.N-1))
		for f := range s.Features {
			c, text := &b.Columns[f], r[at[s.Features[f].Name]]
			if s.Features[f].Kind == model.Continuous {
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					v = math.NaN()
				}
				c.Float = append(c.Float, v)
				continue
			}
			if codes[f] == nil {
				codes[f] = map[string]uint32{}
			}
			if _, ok := codes[f][text]; !ok {
				codes[f][text] = uint32(len(c.Levels))
				c.Levels = append(c.Levels, text)
			}
			c.Code = append(c.Code, codes[f][text])
		}
	}
	return b
}

// mixtureHead is the head of a configuration of four continuous features, an ordinal and a nominal one; in mixtureBatch
// x0 and x1 tell of the class together, x2 helps and hurts by turns, o helps.
func mixtureHead(classes string) string {
	return `
name: mixture
record:
  label: {column: class, classes: ` + classes + `, positive: "yes"}
  features:
    - {name: x0, kind: continuous}
    - {name: x1, kind: continuous}
    - {name: x2, kind: continuous}
    - {name: x3, kind: continuous}
    - {name: o, kind: ordinal, levels: [a, b, c, d]}
    - {name: n, kind: nominal}
fit: {warmup: 400}
`
}

func mixtureBatch(seed uint64, n, classes int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 6)}
	b.Columns[4].Levels, b.Columns[5].Levels = []string{"a", "b", "c", "d"}, []string{"p", "q", "r"}
	for i := range n {
		u := func(k uint64) float64 { return float64(model.Hash(seed, uint64(i), k)>>11) / (1 << 53) }
		for f := range 4 {
			b.Columns[f].Float = append(b.Columns[f].Float, math.Round(u(uint64(f))*200)/100)
		}
		o, c := uint32(4*u(4)), uint32(3*u(5))
		b.Columns[4].Code, b.Columns[5].Code = append(b.Columns[4].Code, o), append(b.Columns[5].Code, c)
		z := -1 + .4*float64(o) + 2*math.Sin(4*b.Columns[2].Float[i])
		if (b.Columns[0].Float[i] > 1) == (b.Columns[1].Float[i] > 1) {
			z += 2 * float64(c)
		}
		y := int32(0)
		if u(6) < 1/(1+math.Exp(-z)) {
			y = 1
		} else if classes > 2 && u(7) < .4 {
			y = 2
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(i))
	}
	return b
}

// cut returns records [from, to) of the batch.
func cut(b *model.Batch, from, to int) *model.Batch {
	c := &model.Batch{N: to - from, Offset: int64(from), Label: b.Label[from:to], Row: b.Row[from:to]}
	for _, col := range b.Columns {
		if col.Float != nil {
			col.Float = col.Float[from:to]
		} else {
			col.Code = col.Code[from:to]
		}
		c.Columns = append(c.Columns, col)
	}
	return c
}

func snapshot(p *model.Partition) map[string][]byte {
	m := map[string][]byte{}
	for _, s := range p.Sections() {
		m[s.Name] = s.Append(nil)
	}
	return m
}

// TestMonotoneWithEverything: with sets, neighbours and kernel at work, of a stage that is fitted anew and of files, no
// query turns against the direction of a feature when only that feature moves.
func TestMonotoneWithEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	type run struct {
		name, head, monotone string
		batch                func(s *model.Schema) *model.Batch
	}
	mixed := func(seed uint64, classes int) func(*model.Schema) *model.Batch {
		return func(*model.Schema) *model.Batch { return mixtureBatch(seed, 2400, classes) }
	}
	runs := []run{
		{"bank", bankHead, "{age: up, balance: auto, campaign: down, pdays: up}",
			func(s *model.Schema) *model.Batch { return bankBatch(t, s) }},
		{"mixture", mixtureHead(`["no", "yes"]`), "{x3: up, x2: auto, o: up}", mixed(1, 2)},
		{"turned", mixtureHead(`["yes", "no"]`), "{x0: auto, x1: down, o: down}", mixed(2, 2)},
		{"three", mixtureHead(`["no", "yes", "other"]`), "{x0: up, x2: down, o: auto}", mixed(3, 3)},
	}
	for _, r := range runs {
		for _, sign := range []string{"free", "follow"} {
			if testing.Short() && sign == "follow" {
				continue
			}
			t.Run(r.name+" "+sign, func(t *testing.T) {
				st := stage(t, r.head+"kernel: {input: sum}\npropensity: {sign: "+sign+", monotone: "+r.monotone+"}\n")
				spec := st.Spec
				all := r.batch(spec.Schema)
				half := all.N / 2
				p := model.NewPartition(spec, 0)
				var out model.Scores
				for a := 0; a < all.N; a += 100 {
					p.Events(cut(all, a, min(a+100, all.N)), &out)
					if a/100*100 == half/100*100 {
						m, err := model.Fit(t.Context(), spec, model.Held{0: snapshot(p)}, nil)
						if err != nil {
							t.Fatal(err)
						}
						if err := p.Swap(m); err != nil {
							t.Fatal(err)
						}
					}
				}
				builder := model.NewBuilder(spec)
				builder.Add(all)
				m, err := builder.Fit(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				file := model.NewPartition(spec, 0)
				if err := file.Swap(m); err != nil {
					t.Fatal(err)
				}
				for what, p := range map[string]*model.Partition{"stream": p, "file": file} {
					if p.Component("local").InputCount() == 0 || p.Component("kernel").InputCount() == 0 {
						t.Errorf("%s: no neighbours or no kernel: nothing is tested", what)
					}
					queries, turns := sweep(t, p, spec.Schema, all)
					t.Logf("%s: %d of %d queries turn", what, turns, queries)
					if turns > 0 || queries < 2000 {
						t.Errorf("%s: %d of %d neighbouring queries turn", what, turns, queries)
					}
				}
			})
		}
	}
}

// sweep asks for records whose feature with a direction alone grows, and counts the steps and the turns: of a
// direction that is auto the fewer ways.
func sweep(t *testing.T, p *model.Partition, s *model.Schema, all *model.Batch) (queries, turns int) {
	t.Helper()
	const steps = 40
	for f := range s.Features {
		if !s.Directed(f) {
			continue
		}
		var up, down int
		for q := range 25 {
			i := int(model.Hash(7, uint64(f), uint64(q)) % uint64(all.N))
			b := &model.Batch{Columns: make([]model.Column, len(s.Features))}
			n := steps
			if s.Features[f].Kind != model.Continuous {
				n = len(s.Features[f].Levels)
			}
			low, high := math.Inf(1), math.Inf(-1)
			for _, v := range all.Columns[f].Float {
				low, high = min(low, v), max(high, v)
			}
			for k := range n {
				b.N++
				b.Label, b.Row = append(b.Label, model.Unlabelled), append(b.Row, int32(k))
				for g := range s.Features {
					c, from := &b.Columns[g], &all.Columns[g]
					c.Levels = from.Levels
					switch {
					case g == f && from.Float != nil:
						// Values as there are, and finer than any cell, by turns.
						step := (high - low) / steps
						if q%2 == 1 {
							step /= 500
						}
						v := from.Float[i]
						if q%2 == 0 || v != v {
							v = low
						}
						c.Float = append(c.Float, v+float64(k)*step)
					case g == f:
						c.Levels = s.Features[f].Levels
						c.Code = append(c.Code, uint32(k))
					case from.Float != nil:
						c.Float = append(c.Float, from.Float[i])
					default:
						c.Code = append(c.Code, from.Code[i])
					}
				}
			}
			var out model.Scores
			p.Events(b, &out)
			K := len(s.Classes)
			for k := 1; k < n; k++ {
				queries++
				switch d := out.P[k*K+s.Positive] - out.P[(k-1)*K+s.Positive]; {
				case d > 1e-12:
					up++
				case d < -1e-12:
					down++
				}
			}
		}
		switch s.Features[f].Monotone {
		case model.Up:
			turns += down
		case model.Down:
			turns += up
		default:
			turns += min(up, down)
		}
		if testing.Verbose() {
			t.Logf("%s: %d steps up, %d down", s.Features[f].Name, up, down)
		}
	}
	return queries, turns
}
