package model

import "context"

// Component is one model that learns from a partition's stream: lift tables, local subspaces, the kernel. It holds the
// live state of one partition under the structure of the serving Model.
//
// All methods of one Component are called from one goroutine. A Row or Example belongs to the caller and may be reused
// when the method returns. Two components that saw the same calls hold, and append, the same bytes. The result does not
// depend on how rows were batched. NaN in a Row means missing; an Example of weight zero changes nothing.
type Component interface {
	// Learn adds a labelled record.
	Learn(ex *Example)
	// Retract is the inverse of Learn for the same Example: Learn then Retract restores every count,
	// exactly for integer weights without decay, to 1e-12 of the total weight otherwise.
	Retract(ex *Example)
	// InputCount is the number of inputs that the component offers to the scorecard under the current structure.
	InputCount() int
	// Inputs writes InputCount() x classes log-lifts (nats; 0 = says nothing), input by input, into dst. It is pure.
	Inputs(row Row, dst []float64)
	// AppendState appends the component's state in its own binary form.
	AppendState(b []byte) []byte
	// LoadState replaces the state by one that AppendState wrote. Hostile bytes give an error, never a panic; after an
	// error the component must be dropped.
	LoadState(b []byte) error
	// Rebase moves the component to the structure of a new Model (MODEL.md 2).
	Rebase(rb *Rebase) error
}

// Rebase is the input of a component when a Model starts to serve.
type Rebase struct {
	// Part is the component's part of the Model, as its Fit returned it; it aliases the Model and must not be changed.
	Part []byte
	// Self is the input partition whose state the component holds.
	Self int32
	// Recode maps the level codes under which the state was built to the Model's.
	Recode Recode
	// Clock is the partition's labelled-record clock now.
	Clock float64
	// Time is the partition's stream time, 0 where it has not begun. A share of the Model may tell a later one.
	Time int64
	// Ahead is the number of labelled records by which Clock is ahead of the Model's share for Self and that are not to
	// age it, so that the share counts as of now (Return); 0 = they age it.
	Ahead float64
	// Since yields, oldest first, the labelled examples (recoded) that the partition learnt after the Model's offset
	// for it: a table of new structure must learn them on top of the Model's share for Self. A table whose structure did
	// not change keeps its own counts and must not learn them again. Between two of them the Rebase may be left to stand
	// while Clock, Time and Recode go on (Prepare), unless Since is asked a second time; see DependsOnNow.
	Since func(yield func(ex *Example) bool)
	// shares and aheadOfShares are Since and Ahead of the scorecards of goals, whose counts are those of Model.Shares;
	// nil = as Since.
	shares        func(yield func(ex *Example) bool)
	aheadOfShares float64
	// unknown says that the Model knows no record of the state: it was made of files or of another history, or the state
	// is empty.
	unknown bool
	ofNow   bool // see DependsOnNow
}

// Factory makes one kind of component, and is the one place where its structure is searched.
type Factory interface {
	// Name keys the part in snapshots and models; it is stable for ever.
	Name() string
	// New returns an empty component that offers nothing until its first Rebase.
	New(levels *Levels) Component
	// Fit searches the structure on the evidence and returns the component's part of a Model. previous is the part of
	// the serving Model, nil when there is none, as after a change of the schema; see Before. Fit starts from it and
	// leaves as it is each structure that need not change, so that live counts stay. It stops within a tenth of a second
	// after ctx has ended, keeps within Evidence.Work, may run while other components learn, and gives the same bytes for
	// the same evidence.
	Fit(ctx context.Context, ev *Evidence, previous []byte) ([]byte, error)
}
