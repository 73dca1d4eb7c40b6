package codec

// unusual is the name of the feature whose value lies outside the learnt ones.
func (x *scored) unusual(i int) (name string, ok bool) {
	if i >= len(x.s.Unusual) || x.s.Unusual[i] < 0 {
		return "", false
	}
	return x.schema.Features[x.s.Unusual[i]].Name, true
}
