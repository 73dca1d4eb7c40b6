package model

import "liftstream/model/wire"

// States gives the states of partitions section by section, as Partition.Sections made them. A fit reads one section at
// a time and keeps the merged result, so that beyond the records of its evidence and the shares of its model its
// memory does not grow with the number of partitions. The methods may be called side by side.
type States interface {
	// Partitions are the partitions that have a state, ascending.
	Partitions() []int32
	// Sections are the names of the sections of a partition's state.
	Sections(partition int32) []string
	// Read calls use with the bytes of a section, nil where the state has no such section, and returns its error. The
	// bytes belong to use until it returns. use must not read another section.
	Read(partition int32, section string, use func(b []byte) error) error
}

// Held is States in memory.
type Held map[int32]map[string][]byte

// Partitions are the keys.
func (h Held) Partitions() []int32 { return sortedKeys(h) }

// Sections are the keys of a state.
func (h Held) Sections(partition int32) []string { return sortedKeys(h[partition]) }

// Read calls use with the section.
func (h Held) Read(partition int32, section string, use func(b []byte) error) error {
	return use(h[partition][section])
}

// ComponentStates gives the states of one component, partition by partition. The zero value holds none.
type ComponentStates struct {
	of      States
	section string
}

// HeldStates are states of a component in memory.
func HeldStates(states map[int32][]byte) ComponentStates {
	held := Held{}
	for n, b := range states {
		held[n] = map[string][]byte{"": b}
	}
	return ComponentStates{of: held}
}

// Partitions are the partitions that have a state, ascending.
func (s ComponentStates) Partitions() []int32 {
	if s.of == nil {
		return nil
	}
	return s.of.Partitions()
}

// Read calls use with the state of a partition, empty where the partition has none of this component. The bytes belong
// to use until it returns. use must not read another state.
func (s ComponentStates) Read(partition int32, use func(b []byte) error) error {
	if s.of == nil {
		return use(nil)
	}
	return s.of.Read(partition, s.section, use)
}

// stored is the state of one partition in States.
type stored struct {
	States
	partition int32
}

// read is Read of the partition.
func (s stored) read(section string, use func(b []byte) error) error {
	return s.Read(s.partition, section, use)
}

// readHeadOf reads the head of the state of a partition.
func readHeadOf(s States, partition int32) (h head, err error) {
	err = s.Read(partition, "core", func(b []byte) (err error) {
		h, err = readHead(wire.NewReader(b))
		return err
	})
	return h, err
}

// restore rebuilds the partition.
func (s stored) restore(spec *Spec) (*Partition, error) {
	return restorePartition(spec, s.Sections(s.partition), s.read)
}

// sample reads the levels and the records.
func (s stored) sample(spec *Spec) (levels *Levels, out sample, err error) {
	var c *core
	err = s.read("core", func(b []byte) (err error) {
		c, err = spec.readCore(b)
		return err
	})
	if err != nil {
		return nil, out, err
	}
	err = s.read("levels", func(b []byte) (err error) {
		levels, err = spec.readLevels(b)
		return err
	})
	if err != nil {
		return nil, out, err
	}
	out = newSample(spec, c.self)
	return levels, out, c.restoreSample(spec, s.read, &out)
}
