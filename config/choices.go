package config

import "time"

// A chooser is a text type with a closed set of values.
type chooser interface{ choices() []string }

// Kind says how the values of a feature relate to each other.
type Kind string

const (
	KindContinuous Kind = "continuous" // numbers on a line
	KindOrdinal    Kind = "ordinal"    // named levels in a fixed order
	KindNominal    Kind = "nominal"    // named levels without order
)

func (Kind) choices() []string { return []string{"continuous", "ordinal", "nominal"} }

// TimeUnit is the unit of times that are numbers.
type TimeUnit string

const (
	UnitSeconds      TimeUnit = "s"
	UnitMilliseconds TimeUnit = "ms"
	UnitMicroseconds TimeUnit = "us"
	UnitNanoseconds  TimeUnit = "ns"
)

func (TimeUnit) choices() []string { return []string{"s", "ms", "us", "ns"} }

// Std returns the length of the unit, 0 where none is stated.
func (u TimeUnit) Std() time.Duration {
	return map[TimeUnit]time.Duration{UnitSeconds: time.Second, UnitMilliseconds: time.Millisecond,
		UnitMicroseconds: time.Microsecond, UnitNanoseconds: time.Nanosecond}[u]
}

// Use says where a feature may appear.
type Use string

const (
	UseScore  Use = "score"  // in tables, searches and scores
	UseReport Use = "report" // in tables by group, never in a score
	UseNever  Use = "never"  // nowhere: the column is known and not looked at
)

func (Use) choices() []string { return []string{"score", "report", "never"} }

// Nullable says which parts of a feature a message may lack.
type Nullable string

const (
	NullableValues Nullable = "values" // its values; its column must be there
	NullableColumn Nullable = "column" // its values, and its column: all values are missing then
	NullableNever  Nullable = "never"  // nothing: a row without a value is a dead letter
)

func (Nullable) choices() []string { return []string{"values", "column", "never"} }

// Joint says how several continuous features are cut into cells together.
type Joint string

const (
	JointMahalanobis Joint = "mahalanobis" // quantiles of the Mahalanobis distance to zero, as in the paper
	JointProduct     Joint = "product"     // the product of each one's quantiles
)

func (Joint) choices() []string { return []string{"mahalanobis", "product"} }

// Search says how feature sets are gone through.
type Search string

const (
	SearchAuto       Search = "auto"       // exhaustive where affordable, else beam
	SearchExhaustive Search = "exhaustive" // all of them: exact
	SearchBeam       Search = "beam"       // the best of each size are extended
)

func (Search) choices() []string { return []string{"auto", "exhaustive", "beam"} }

// Learning says whether records are learnt.
type Learning string

// The values of Learning.
const (
	LearningOn  Learning = "on"
	LearningOff Learning = "off"
)

func (Learning) choices() []string { return []string{"on", "off"} }

// SetRank is the figure by which sets of features are ranked.
type SetRank string

const (
	SetRankLeaveOneOut SetRank = "leave_one_out" // eta on records left out of the counts: many cells are no advantage
	SetRankEta         SetRank = "eta"           // eta on the counted records, as in the paper
)

func (SetRank) choices() []string { return []string{"leave_one_out", "eta"} }

// ProfileRank is the figure by which the profiles of a class are ranked.
type ProfileRank string

const (
	ProfileRankLift  ProfileRank = "lift"  // the lift on the searched records, as in the paper
	ProfileRankLower ProfileRank = "lower" // the low end of its 95 % interval
	// ProfileRankValidated takes four times as many candidates by lift and ranks them by the low end of the validated
	// lift. The list is then chosen for its validated figures, so that the intervals are made to hold for all candidates
	// at once and are wider than under the other ranks.
	ProfileRankValidated ProfileRank = "validated"
)

func (ProfileRank) choices() []string { return []string{"lift", "lower", "validated"} }

// Redundant is the fate of profiles and windows that hold the same records as a better one.
type Redundant string

const (
	RedundantDrop Redundant = "drop" // only the best one is reported, with the number of the others
	RedundantKeep Redundant = "keep" // all are reported
)

func (Redundant) choices() []string { return []string{"drop", "keep"} }

// Direction says how the propensity of the positive class may move with a feature.
type Direction string

const (
	DirectionUp   Direction = "up"   // never falls as the feature grows
	DirectionDown Direction = "down" // never rises as the feature grows
	DirectionAuto Direction = "auto" // up or down, as the evidence says at a fit
)

func (Direction) choices() []string { return []string{"up", "down", "auto"} }

// Sign says whether the effect of a feature may go against its lift.
type Sign string

const (
	SignFree   Sign = "free"   // it may: each weight suits best beside the other features
	SignFollow Sign = "follow" // it may not: such a part of the log-odds is 0
)

func (Sign) choices() []string { return []string{"free", "follow"} }

// Residuals says whether scores are corrected by their own recent residuals.
type Residuals string

const (
	ResidualsOn  Residuals = "on"  // they are: each partition learns how much the newest errors tell of the next record
	ResidualsOff Residuals = "off" // a score is the mixture's alone
)

func (Residuals) choices() []string { return []string{"on", "off"} }

// Observation is the kind of scores that the Gaussian process of a feature observes.
type Observation string

const (
	ObservationAveraged Observation = "averaged" // the score at a value, averaged over the classes
	ObservationRecord   Observation = "record"   // the score of single records, as in the paper
)

func (Observation) choices() []string { return []string{"averaged", "record"} }

// ScoreForm is the form of the score that tells how well a feature discriminates at a value.
type ScoreForm string

const (
	ScoreHit      ScoreForm = "hit"      // the kernel share of the same class
	ScoreBalanced ScoreForm = "balanced" // hits against misses, classes of any size alike
)

func (ScoreForm) choices() []string { return []string{"hit", "balanced"} }

// Redundancy says how the correlation with the selected features is taken off.
type Redundancy string

const (
	RedundancyMean Redundancy = "mean" // the mean over the selected ones, as in the paper
	RedundancyMax  Redundancy = "max"  // the largest: a duplicate never enters
)

func (Redundancy) choices() []string { return []string{"mean", "max"} }

// Divergence is the measure by which the curve of a feature, at the value of a record, is compared with a feature that
// tells nothing. Neighbours are sought in the features of the largest one where Theta is above 0.
type Divergence string

const (
	DivergenceFrom  Divergence = "from_reference" // KL(curve || reference), as in the paper: follows the score
	DivergenceTo    Divergence = "to_reference"   // KL(reference || curve): follows the certainty of the score
	DivergenceLower Divergence = "lower_bound"    // the score less its standard deviation
)

func (Divergence) choices() []string {
	return []string{"from_reference", "to_reference", "lower_bound"}
}

// KernelMode is the form of the kernel's linear programme.
type KernelMode string

const (
	KernelNonneg  KernelMode = "nonneg"  // weights at least 0: always a kernel
	KernelRidge   KernelMode = "ridge"   // weights of any sign, with a nugget
	KernelLiteral KernelMode = "literal" // as printed in the paper
)

func (KernelMode) choices() []string { return []string{"nonneg", "ridge", "literal"} }

// KernelShape is the form of the kernels of numbers. The full ones are over all features at once.
type KernelShape string

const (
	KernelGaussian       KernelShape = "gaussian"        // exp(-width (x-y)^2)
	KernelTriangular     KernelShape = "triangular"      // max(0, 1 - width |x-y|)
	KernelFullGaussian   KernelShape = "full_gaussian"   // exp(-width |x-y|^2)
	KernelFullPolynomial KernelShape = "full_polynomial" // (x.y + 1)^2
	KernelFullLinear     KernelShape = "full_linear"     // x.y
)

func (KernelShape) choices() []string {
	return []string{"gaussian", "triangular", "full_gaussian", "full_polynomial", "full_linear"}
}

// Full reports whether the kernels are over all features at once.
func (s KernelShape) Full() bool {
	return s == KernelFullGaussian || s == KernelFullPolynomial || s == KernelFullLinear
}

// KernelGroups is the unit that the linear programme selects.
type KernelGroups string

const (
	KernelFeatures KernelGroups = "features" // all kernels of a feature
	KernelSingle   KernelGroups = "kernels"  // each kernel by itself
)

func (KernelGroups) choices() []string { return []string{"features", "kernels"} }

// KernelInput is the kind of input that the kernel gives to a score.
type KernelInput string

const (
	KernelAuto    KernelInput = "auto"    // chosen at each fit
	KernelSum     KernelInput = "sum"     // a sum of one curve a feature
	KernelProduct KernelInput = "product" // a fit with a product of the kernels, where there are records enough
)

func (KernelInput) choices() []string { return []string{"auto", "sum", "product"} }

// Late is the effect of a label for a record that was already learnt.
type Late string

const (
	LateCorrect Late = "correct" // the record is taken back and learnt with it
	LateIgnore  Late = "ignore"  // it is counted; the learnt label stays
)

func (Late) choices() []string { return []string{"correct", "ignore"} }

// Match says which records a label by an id means.
type Match string

const (
	MatchNewest Match = "newest" // the one of the latest record.time
	MatchFirst  Match = "first"  // the one of the earliest
	MatchAll    Match = "all"    // each
)

func (Match) choices() []string { return []string{"newest", "first", "all"} }

// Reaction is the answer to topics or settings that do not fit the state.
type Reaction string

const (
	ReactionFail    Reaction = "fail"    // stop and name the decision to take
	ReactionRebuild Reaction = "rebuild" // drop the state and learn again from the topics
)

func (Reaction) choices() []string { return []string{"fail", "rebuild"} }

// SharedReaction is the answer to a topic into which another stage has written.
type SharedReaction string

const (
	SharedFail   SharedReaction = "fail"   // stop and name the other stage
	SharedAccept SharedReaction = "accept" // go on beside it, or after it
)

func (SharedReaction) choices() []string { return []string{"fail", "accept"} }

// OffsetReaction is the answer to a group offset that another program has set.
type OffsetReaction string

const (
	OffsetFail    OffsetReaction = "fail"    // stop and name the decision to take
	OffsetSkip    OffsetReaction = "skip"    // the later offset counts, of state and group: nothing is scored twice
	OffsetRescore OffsetReaction = "rescore" // the earlier one counts: nothing is left out, some may be scored again
)

func (OffsetReaction) choices() []string { return []string{"fail", "skip", "rescore"} }

// OutputFeatures says which features are handed on with the scores.
type OutputFeatures string

const (
	FeaturesNone     OutputFeatures = "none"
	FeaturesSelected OutputFeatures = "selected" // those of the record's subspace; the others are null
	FeaturesAll      OutputFeatures = "all"
)

func (OutputFeatures) choices() []string { return []string{"none", "selected", "all"} }

// OutputGoals says which columns scores have of each goal.
type OutputGoals string

const (
	GoalsPropensity OutputGoals = "propensity"
	GoalsWhy        OutputGoals = "why" // its lift and its reasons too
)

func (OutputGoals) choices() []string { return []string{"propensity", "why"} }

// Mechanism is a way to authenticate with a broker.
type Mechanism string

const (
	MechanismPlain       Mechanism = "PLAIN"
	MechanismScramSHA256 Mechanism = "SCRAM-SHA-256"
	MechanismScramSHA512 Mechanism = "SCRAM-SHA-512"
	MechanismOAuth       Mechanism = "OAUTHBEARER" // with tokens, see OAuth
)

func (Mechanism) choices() []string {
	return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}
}

// DedupBy is the property that duplicates share.
type DedupBy string

const DedupByID DedupBy = "id" // the id of the record

func (DedupBy) choices() []string { return []string{"id"} }
