package model

// Hash mixes a seed and a record's position into 64 uniform bits: the only source of randomness here, so that the same
// input gives the same choices (splitmix64's finaliser, Steele, Lea and Flood 2014, over the words in turn).
func Hash(seed uint64, words ...uint64) uint64 {
	h := mix(seed + 0x9e3779b97f4a7c15)
	for _, w := range words {
		h = mix(h ^ w + 0x9e3779b97f4a7c15)
	}
	return h
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
