package lift

import "golang.org/x/sys/cpu"

//go:noescape
func standardiseAVX2(z, d, up, r *float64, inverse float64, n int)

//go:noescape
func projectAVX2(to, from, z *float64, l float64, n int)

//go:noescape
func binsOfAVX2(bins *int16, d *float64, scale, shift float64, n int)

//go:noescape
func countBandAVX2(marks, bins *int16, below, high int16, n int) (from, beyond uint32)

//go:noescape
func markWordsAVX2(words *uint32, marks *int16, n int)

//go:noescape
func onesOfAVX2(a, b *uint64, n int) int

//go:noescape
func matchAVX2(a *uint64, codes *uint8, code uint8, n int)

func standardise(z, d, up, r []float64, inverse float64) {
	if !cpu.X86.HasAVX2 || len(z) == 0 {
		standardisePlain(z, d, up, r, inverse)
		return
	}
	d, up, r = d[:len(z)], up[:len(z)], r[:len(z)]
	standardiseAVX2(&z[0], &d[0], &up[0], &r[0], inverse, len(z))
}

func project(to, from, z []float64, l float64) {
	if !cpu.X86.HasAVX2 || len(z) == 0 {
		projectPlain(to, from, z, l)
		return
	}
	to, from = to[:len(z)], from[:len(z)]
	projectAVX2(&to[0], &from[0], &z[0], l, len(z))
}

func binsOf(bins []int16, d []float64, scale, shift float64) {
	if !cpu.X86.HasAVX2 || len(bins) == 0 {
		binsOfPlain(bins, d, scale, shift)
		return
	}
	d = d[:len(bins)]
	binsOfAVX2(&bins[0], &d[0], scale, shift, len(bins))
}

func countBand(marks, bins []int16, e band) (from, beyond uint32) {
	if !cpu.X86.HasAVX2 || len(bins) == 0 {
		return countBandPlain(marks, bins, e)
	}
	marks = marks[:len(bins)]
	return countBandAVX2(&marks[0], &bins[0], e.low-1, e.high, len(bins))
}

func markWords(words []uint32, marks []int16) {
	if !cpu.X86.HasAVX2 || len(words) == 0 {
		markWordsPlain(words, marks)
		return
	}
	marks = marks[:len(words)*latticePad]
	markWordsAVX2(&words[0], &marks[0], len(marks))
}

func onesOf(a, b []uint64) int {
	b = b[:len(a)]
	blocks := len(a) &^ 15
	if !cpu.X86.HasAVX2 || blocks == 0 {
		return onesOfPlain(a, b)
	}
	return onesOfAVX2(&a[0], &b[0], blocks) + onesOfPlain(a[blocks:], b[blocks:])
}

func match(a []uint64, codes []uint8, code uint8) {
	if !cpu.X86.HasAVX2 || len(a) == 0 {
		matchPlain(a, codes, code)
		return
	}
	codes = codes[:64*len(a)]
	matchAVX2(&a[0], &codes[0], code, len(a))
}
