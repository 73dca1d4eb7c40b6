package scan

// boundPlain is Bound in plain Go, bit by bit.
func boundPlain(r *Range, q, most, factor float32, t *Table) {
	for c := range t {
		d := max(r.Low[c]-q, q-r.High[c], 0)
		d = min(float32(d*d), most)
		t[c] = uint8(min(float32(d*factor), Full))
	}
}

// sumUpPlain is the sums of Sums in plain Go.
func sumUpPlain(codes Codes, wide int, features []uint32, tables []Table, sums []uint8, least *[Lanes]uint8) {
	for g := range len(sums) / Group {
		s := (*[Group]uint8)(sums[g*Group:])
		for i, j := range features {
			code, t := (*[Group]uint8)(codes[(g*wide+int(j))*Group:]), &tables[i]
			for k, c := range code {
				v := uint(s[k]) + uint(t[c%Cells])
				s[k] = uint8(min(v, Full))
			}
		}
		for k, v := range s {
			least[k%Lanes] = min(least[k%Lanes], v)
		}
	}
}

// atMostPlain is AtMost in plain Go.
func atMostPlain(sums []uint8, limit uint8, to []int32) []int32 {
	for k, s := range sums {
		if s <= limit {
			to = append(to, int32(k))
		}
	}
	return to
}

// measurePlain is Distances in plain Go.
func measurePlain(places []int32, quads []Quad, list []int32, out []int64) {
	wide := len(quads) * Together
	for n, k := range list {
		sum := 0.
		for i, v := range places[int(k)*wide : (int(k)+1)*wide] {
			t, i := &quads[i/Together], i%Together
			d := t.Absent[i]
			if v != Absent {
				d = float64(v) - t.Q[i]
				d = min(float64(d*d), t.Most[i]) * t.Weight[i]
			}
			sum += float64(d)
		}
		out[n] = int64(sum)
	}
}
