// Package model is the state machine of the program: it scores records, learns from labels, and changes its model. It
// knows no clock, no log, no Kafka and no encoding; the random choices are Hash of a position and the seed, so that the
// same commands give the same bytes everywhere.
//
// Begin with Partition, in partition.go. A Partition holds the state of one input partition, and three commands alone
// move it:
//
//	Events  scores a Batch of records into Scores and learns its labelled records, each scored before it is learnt
//	Labels  learns labels that come later than their records, or corrects a class
//	Swap    makes a Model the serving one
//
// Four words recur:
//
//	State      the numbers of one Partition: counts, weights, recent records, records that wait for labels. It is
//	           stored as Sections and rebuilt by RestorePartition.
//	Model      the immutable, numbered result of a Fit over all partitions: one part for each component.
//	Evidence   the labelled records, and the components' states, that a Fit sees.
//	Component  one way to learn: lift tables, local neighbours, the kernel. A Factory makes its components and fits its
//	           parts; it may have further powers (powers.go). The Scorecard joins the inputs of all components into
//	           calibrated propensities.
//
// A Spec lists the schema, the factories and the sizes; the partitions and the trainer of a stage share it.
//
// The files, in the order of a record's way:
//
//	schema.go levels.go batch.go       features, codes of levels, decoded records
//	partition.go score.go learn.go     the Partition, its scores, its learning
//	counts.go coldstart.go             the class counts, and model 0 before the first published one
//	streamtime.go                      the time that records and labels tell
//	pending.go                         records that wait for their labels
//	sample.go tail.go reservoir.go     learnt records: the newest, and a sample of the older ones
//	percentile.go                      ranks of scores among the scores of before
//	swap.go carry.go state.go          a new Model, a new schema, the binary form
//	evidence.go fit.go builder.go      the input of a Fit, Fits over partitions and over files
//	gate.go                            a new Model compared with the serving one
//	component.go powers.go             the contract of a component, and its optional powers
//	scorecard.go                       the contract of the scorecard
//	scores.go term.go                  the results, and the names of contributions
//
// Who owns buffers: the caller of a command owns its Batch and may reuse it when the command returns. A Row or Example
// given to a component belongs to the caller. Scores belong to the caller, and the next command that writes into them
// overwrites them. The parts of a Model alias its bytes and are never changed. Functions that fill a slice take it last
// and leave its allocation to the caller.
//
// The invariants, each held by a test:
//
//   - The same commands give the same bytes, however the records were cut into batches.
//   - A restored state goes on as the original.
//   - A record is scored by the state that has not learnt it, nor any later record.
//   - An error of Swap leaves the Partition as it was; hostile bytes give an error and never a panic.
//   - The contributions of a score sum to its log-odds to 1e-9.
//   - Swap of a Model with the structure that serves changes no score but for the counts of other partitions.
package model
