package codec

// AppendValue appends one value as JSON, as AppendJSON writes it in its row.
func (t *Table) AppendValue(dst []byte, column, row int) []byte {
	return appendJSON(dst, t.rec.Column(column), row)
}
