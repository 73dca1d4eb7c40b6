package propensity

// memory holds the numbers that Score remembers of a record, for Effects and for the record's label. Its slices lie
// behind each other in one slice of numbers, that of the pending store, whose length is memorySize. The zero memory is
// that of a record that was not scored.
type memory struct {
	shared     []float64 // shared inputs x margins
	own        []float64 // the constant, 1 of a record that was scored under a structure, then the linear inputs
	raw        []float64 // cards x margins: log-odds of two classes, log-scores of more
	calibrated []float64 // the same after calibration
	learnt     []float64 // one number: of the records that had been learnt when this one was scored
	// mixed and corrected are log-scores by margin, without and with the last layer, and recent its inputs, half-lives x
	// margins. They stand at the end: memories of former builds end before them, and are read as if these were NaN.
	mixed, corrected, recent []float64
}

// memorySize is the number of numbers of a memory. It depends on the options and the schema alone.
func (p *layout) memorySize() int {
	return p.slots*p.margins + 1 + p.linear + experts*p.margins + 1 + (2+p.residuals)*p.margins
}

// memoryOf returns numbers, memorySize of them, by their meaning.
func (p *layout) memoryOf(numbers []float64) (m memory) {
	at := p.slots * p.margins
	m.shared = numbers[:at:at]
	n := at + 1 + p.linear
	m.own = numbers[at:n:n]
	at, n = n, n+cards*p.margins
	m.raw = numbers[at:n:n]
	at, n = n, n+cards*p.margins
	m.calibrated = numbers[at:n:n]
	m.learnt = numbers[n : n+1 : n+1]
	at, n = n+1, n+1+p.margins
	m.mixed = numbers[at:n:n]
	at, n = n, n+p.margins
	m.corrected = numbers[at:n:n]
	m.recent = numbers[n:]
	return m
}

func (p *layout) emptyMemory() memory { return p.memoryOf(make([]float64, p.memorySize())) }

// input returns shared input i, a number a margin.
func (m *memory) input(i, margins int) []float64 { return m.shared[i*margins : (i+1)*margins] }

// structured reports whether the record was scored under a structure, so that there are inputs and margins.
func (m *memory) structured() bool { return len(m.own) > 0 && m.own[0] == 1 }

// set makes m the same as o.
func (m *memory) set(o memory) {
	copy(m.shared, o.shared)
	copy(m.own, o.own)
	copy(m.raw, o.raw)
	copy(m.calibrated, o.calibrated)
	copy(m.learnt, o.learnt)
	copy(m.mixed, o.mixed)
	copy(m.corrected, o.corrected)
	copy(m.recent, o.recent)
}

// clear makes m the memory of a record that was scored without a structure.
func (m *memory) clear() {
	clear(m.shared)
	clear(m.own)
	clear(m.raw)
	clear(m.calibrated)
	clear(m.learnt)
	clear(m.mixed)
	clear(m.corrected)
	clear(m.recent)
}
