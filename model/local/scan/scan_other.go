//go:build !amd64

package scan

const fast = false

func bound(r *Range, q, most, factor float32, t *Table) { boundPlain(r, q, most, factor, t) }

func sumUp(codes Codes, wide int, features []uint32, tables []Table, sums []uint8, least *[Lanes]uint8) {
	sumUpPlain(codes, wide, features, tables, sums, least)
}

func atMost(sums []uint8, limit uint8, to []int32) []int32 { return atMostPlain(sums, limit, to) }

func measure(places []int32, quads []Quad, list []int32, out []int64) {
	measurePlain(places, quads, list, out)
}
