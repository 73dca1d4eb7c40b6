package model

// MissingCode marks a missing value in Column.Code.
const MissingCode = ^uint32(0)

// Column holds one feature of a Batch: Float for Continuous (NaN = missing; infinities count as missing), otherwise
// Code, an index into the batch's own Levels or MissingCode.
type Column struct {
	Float  []float64
	Code   []uint32
	Levels []string
}

// Batch is a run of decoded records in input order. The decoder owns its buffers and may reuse them once the call that
// was given the Batch has returned; copy a value to keep it.
type Batch struct {
	N       int
	Columns []Column // one for each feature of the Schema, in its order, each of N values
	// Label holds the class of each record, Unlabelled or UnknownClass.
	Label []int32
	// Outcomes holds the classes of the goals, nil where none is known.
	Outcomes []Outcomes
	// Weight is nil when every record weighs 1. Values are finite and at least 0.
	Weight []float64
	// Treated is nil when nothing says which records were treated.
	Treated []Treatment
	// ID is nil when the configuration names no id column.
	ID []string
	// Time is in Unix nanoseconds: the configured column, else the message's timestamp.
	Time []int64
	// Row is the position of each record in its message, counted over all rows that the message had, bad ones
	// included.
	Row []int32
	// Partition and Offset are those of the message; for files 0 and the number of the chunk.
	Partition int32
	Offset    int64
}

// Slice returns n records from one on. They share the memory of the batch.
func (b *Batch) Slice(from, n int) Batch {
	out := *b
	out.N, out.Columns = n, make([]Column, len(b.Columns))
	for k, c := range b.Columns {
		if c.Float != nil {
			c.Float = c.Float[from : from+n]
		}
		if c.Code != nil {
			c.Code = c.Code[from : from+n]
		}
		out.Columns[k] = c
	}
	out.Label = b.Label[from : from+n]
	if b.Outcomes != nil {
		out.Outcomes = b.Outcomes[from : from+n]
	}
	if b.Weight != nil {
		out.Weight = b.Weight[from : from+n]
	}
	if b.Treated != nil {
		out.Treated = b.Treated[from : from+n]
	}
	if b.ID != nil {
		out.ID = b.ID[from : from+n]
	}
	if b.Time != nil {
		out.Time = b.Time[from : from+n]
	}
	if b.Row != nil {
		out.Row = b.Row[from : from+n]
	}
	return out
}

// Keep leaves the records in the batch that keep names by their index, which it is asked in order.
func (b *Batch) Keep(keep func(i int) bool) {
	k := 0
	for i := range b.N {
		if !keep(i) {
			continue
		}
		if k != i {
			b.move(i, k)
		}
		k++
	}
	if k == b.N {
		return
	}
	b.N = k
	for f := range b.Columns {
		if c := &b.Columns[f]; c.Float != nil {
			c.Float = c.Float[:k]
		} else {
			c.Code = c.Code[:k]
		}
	}
	b.Label, b.Time, b.Row = b.Label[:k], b.Time[:k], b.Row[:k]
	if b.Outcomes != nil {
		b.Outcomes = b.Outcomes[:k]
	}
	if b.ID != nil {
		b.ID = b.ID[:k]
	}
	if b.Weight != nil {
		b.Weight = b.Weight[:k]
	}
	if b.Treated != nil {
		b.Treated = b.Treated[:k]
	}
}

// move copies record i to the place k before it.
func (b *Batch) move(i, k int) {
	for f := range b.Columns {
		if c := &b.Columns[f]; c.Float != nil {
			c.Float[k] = c.Float[i]
		} else {
			c.Code[k] = c.Code[i]
		}
	}
	b.Label[k], b.Time[k], b.Row[k] = b.Label[i], b.Time[i], b.Row[i]
	if b.Outcomes != nil {
		b.Outcomes[k] = b.Outcomes[i]
	}
	if b.ID != nil {
		b.ID[k] = b.ID[i]
	}
	if b.Weight != nil {
		b.Weight[k] = b.Weight[i]
	}
	if b.Treated != nil {
		b.Treated[k] = b.Treated[i]
	}
}

// treatment is that of record i.
func (b *Batch) treatment(i int) Treatment {
	if b.Treated == nil {
		return TreatmentUnknown
	}
	return b.Treated[i]
}

// Labels is a run of late or corrected labels: each names its record by ID or by position.
type Labels struct {
	N     int
	Class []int32
	// Outcomes holds the classes of the goals, nil where none is known.
	Outcomes []Outcomes
	ID       []string // nil when the labels name positions
	// Partition, Offset and Row are nil when the labels name ids.
	Partition []int32
	Offset    []int64
	Row       []int32
	Time      []int64
	Treated   []Treatment // nil when nothing says which records were treated
}

// outcomes returns the outcomes of label i.
func (l *Labels) outcomes(i int) Outcomes {
	if l.Outcomes == nil {
		return 0
	}
	return l.Outcomes[i]
}

// treatment is that of the record of label i.
func (l *Labels) treatment(i int) Treatment {
	if l.Treated == nil {
		return TreatmentUnknown
	}
	return l.Treated[i]
}
