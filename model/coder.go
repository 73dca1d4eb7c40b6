package model

import "math"

// coder turns the records of batches into Rows: codes of the batch's own levels become codes of Levels.
type coder struct {
	schema *Schema
	row    Row
	codes  [][]uint32 // by feature and level of the batch: the code in Levels + 1, 0 = not looked up yet
}

func newCoder(s *Schema) coder {
	n := len(s.Features)
	return coder{schema: s, row: make(Row, n), codes: make([][]uint32, n)}
}

// start forgets the codes of the batch before.
func (c *coder) start(b *Batch) {
	for f := range c.codes {
		c.codes[f] = grow(c.codes[f], len(b.Columns[f].Levels))
	}
}

// code writes record i of the batch into c.row. Levels gets a code for each level that it lacks.
func (c *coder) code(levels *Levels, b *Batch, i int) {
	for f := range c.row {
		column := &b.Columns[f]
		if column.Float != nil {
			c.row[f] = c.schema.Features[f].Value(column.Float[i])
			continue
		}
		l := column.Code[i]
		if l == MissingCode {
			c.row[f] = math.NaN()
			continue
		}
		if c.codes[f][l] == 0 {
			c.codes[f][l] = levels.Code(f, column.Levels[l]) + 1
		}
		c.row[f] = Cell(c.codes[f][l] - 1)
	}
}

// example returns record i with its row and the clock at which it is scored.
func (b *Batch) example(i int, row Row, clock float64) Example {
	ex := Example{Row: row, Class: b.Label[i], Weight: 1, Clock: clock}
	if b.Weight != nil {
		ex.Weight = min(b.Weight[i], MaxWeight)
	}
	if b.Time != nil {
		ex.Time = b.Time[i]
	}
	if b.Outcomes != nil {
		ex.Outcomes = b.Outcomes[i]
	}
	return ex
}
