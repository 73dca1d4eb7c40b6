// Package state has the bytes of the two compacted topics that a stage writes for itself, and the logs that hold them
// in memory. FORMAT.md describes the bytes.
//
// The state topic has one partition for each partition of events. A Log is its content: the newest value of each key.
// A Snapshotter writes the snapshots of a model.Partition into it, a Manifest says which sections make a complete
// snapshot, JournalEntry records tell a replay where labels were learnt and models changed, and the Done record says
// which offsets the last transaction committed. The model topic has one partition; Models follows it.
//
// Each value is a frame (Seal, Unseal) with its format and checksum. Both logs pass over keys and sizes that no stage
// writes, so another writer of the topics cannot fill the memory of their readers.
//
// Begin at Log, which reads the state topic, at Snapshotter, which writes snapshots, and at Models, which reads models.
package state
