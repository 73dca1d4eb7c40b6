package txn

import "liftstream/model/murmur2"

// Partition is the partition, of n, that Java's default partitioner chooses for a record with this key; see
// murmur2.Partition.
func Partition(key []byte, n int) int { return murmur2.Partition(key, n) }
