//go:build !amd64

package lift

func standardise(z, d, up, r []float64, inverse float64) { standardisePlain(z, d, up, r, inverse) }

func project(to, from, z []float64, l float64) { projectPlain(to, from, z, l) }

func binsOf(bins []int16, d []float64, scale, shift float64) { binsOfPlain(bins, d, scale, shift) }

func countBand(marks, bins []int16, e band) (from, beyond uint32) {
	return countBandPlain(marks, bins, e)
}

func markWords(words []uint32, marks []int16) { markWordsPlain(words, marks) }

func onesOf(a, b []uint64) int { return onesOfPlain(a, b) }

func match(a []uint64, codes []uint8, code uint8) { matchPlain(a, codes, code) }
