// Package murmur2 is the hash by which Kafka's producers for Java choose the partition of a key. A record with
// an id belongs to the partition of its id (codec/CONTRACT.md 1).
package murmur2

// Partition is the partition, of n, that Java's default partitioner chooses for the key: the low 31 bits of Sum, modulo
// n. It panics if n is not positive. A record without a key has no such partition; an empty key has.
func Partition[K ~string | ~[]byte](key K, n int) int { return int(Sum(key)&0x7fffffff) % n }

// Sum is Austin Appleby's MurmurHash2 with the seed of Kafka's Utils.murmur2.
func Sum[K ~string | ~[]byte](key K) uint32 {
	const seed, m = 0x9747b28c, 0x5bd1e995
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(key[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
