package config

// Lift shapes the tables of class counts by cells of feature sets.
type Lift struct {
	// Quantiles is the number of cells of a continuous set. Default 5. Cells of equal cut points are merged.
	Quantiles int `yaml:"quantiles"`
	// Joint says how several continuous features are cut together. Default mahalanobis.
	Joint Joint `yaml:"joint"`
	// Sets rules the search for sets of features.
	Sets Sets `yaml:"sets"`
	// Windows rules the search for windows of cells.
	Windows Windows `yaml:"windows"`
	// Profiles rules the search for profiles of values.
	Profiles Profiles `yaml:"profiles"`
}

// Sets rules the search for sets of features by eta.
type Sets struct {
	// Min is the least number of features in a set. Default 1.
	Min int `yaml:"min"`
	// Max is the largest number of features in a set. Default 3. Each further one multiplies the search by the number
	// of features.
	Max int `yaml:"max"`
	// Search says how the sets are gone through. Default auto: exhaustive where affordable, else a beam.
	Search Search `yaml:"search"`
	// Rank is the figure by which sets are ranked and extended, and the cells of windows chosen. Default leave_one_out.
	Rank SetRank `yaml:"rank"`
	// Top is the number of best sets that are kept and counted live. Default 20.
	Top int `yaml:"top"`
}

// Windows rules the search for windows: groups of cells in which the outcome depends most on the set.
type Windows struct {
	// Top is the number of best windows that are reported. Default 10; 0 searches none.
	Top int `yaml:"top"`
	// MinMass is the share of the records that a window must exceed, strictly. Default .15. 0: the best single cell wins,
	// and that is often one of a few records that happen to be of one class.
	MinMass float64 `yaml:"min_mass"`
	// Contiguous asks for windows without a gap where the cells of a set have an order: those of one ordinal feature, of
	// one continuous one, or of several cut together. Default false: any cells make a window.
	Contiguous bool `yaml:"contiguous"`
	// Overlapping is the fate of windows that share more than half of their records with a better one. Default drop.
	Overlapping Redundant `yaml:"overlapping"`
}

// Profiles rules the search for profiles: combinations of values with a high lift for a class.
type Profiles struct {
	// Top is the number of best profiles for each class. Default 20; 0 searches none.
	Top int `yaml:"top"`
	// MinSupport is the share of the complete records that a profile must exceed, strictly. Default 0.005.
	MinSupport float64 `yaml:"min_support"`
	// MaxFeatures is the largest number of features in a profile. Default 3.
	MaxFeatures int `yaml:"max_features"`
	// Of lists the classes for which profiles are searched. Default empty: all of them.
	Of []string `yaml:"of"`
	// Rank is the figure by which the profiles of a class are ranked. Default lower: by the low end of the lift on the
	// records that were searched, which prefers profiles of more records.
	Rank ProfileRank `yaml:"rank"`
	// Validate is the share of the records, the newest of a stream, that the search leaves alone and on which the lift is
	// then measured again. Default 0.2. 0 searches all records, as in the paper: no lift is validated then, and no score
	// carries a profile.
	Validate float64 `yaml:"validate"`
	// Redundant is the fate of refinements that hold the same records, and of profiles that hold nearly the same
	// records as a better one. Default drop.
	Redundant Redundant `yaml:"redundant"`
}

// Propensity shapes the live scorecard.
type Propensity struct {
	// Cells is the number of quantile cells of one continuous feature, atoms apart. Default 15.
	Cells int `yaml:"cells"`
	// HalfLives lists the horizons over which counts are kept, each once, 1 to 16 of them. Default 3, 20, 200, 2000 and 0
	// (never forget). Each costs its share of the time of a record.
	HalfLives []HalfLife `yaml:"half_lives"`
	// Prior is the number of pseudo-records of the base rate in a cell. Default 5. More shrinks small cells harder.
	Prior float64 `yaml:"prior"`
	// BaseRates are the rates of all classes that hold before labels tell: a partition that has too few records for a
	// structure scores by them and its own counts, they weighing as many records as Prior, and such scores stay
	// untrained. They are divided by their sum, which is 1 within .01. Default none: one record of each class.
	BaseRates map[string]float64 `yaml:"base_rates,omitempty"`
	// Step is the step of the scorecard's weights (AdaGrad). Default 0.1.
	Step float64 `yaml:"step"`
	// Linear adds the standardised continuous features themselves as inputs. Default true.
	Linear bool `yaml:"linear"`
	// Sign says whether the effect of a feature on a score may go against the lift that is published beside it. Default
	// free.
	Sign Sign `yaml:"sign"`
	// Residuals says whether scores are corrected by their own recent residuals. Default on. Off: outcomes that come in
	// runs which no feature tells are not foreseen, and no reason has the term (recent).
	Residuals Residuals `yaml:"residuals"`
	// Calibration rules the calibration after the softmax.
	Calibration Calibration `yaml:"calibration"`
	// Monotone constrains, by feature, how the propensity of the positive class may move with it. Default none. Only
	// scored continuous and ordinal features, and only with record.label.positive. Such a feature takes no part
	// where no direction is held: in the neighbours' distance, the kernel and the sets that feed the scorecard.
	Monotone map[string]Direction `yaml:"monotone,omitempty"`
}

// Calibration rules the online calibration of the log-odds.
type Calibration struct {
	// Knots is the number of knots on the log-odds from -6 to 6. Default 25.
	Knots int `yaml:"knots"`
	// HalfLife is the memory of the knots' counts. Default 3000 labelled records. It should not be shorter than labels
	// are late.
	HalfLife HalfLife `yaml:"half_life"`
	// Prior is the number of pseudo-records of the identity in a knot. Default 20.
	Prior float64 `yaml:"prior"`
}

// Local shapes the local subspaces: for each record, the features that tell the classes apart there. `local: off` does
// without them: scores then have no neighbours' opinion, and their subspaces are the contributing features whose lifts
// tell of the target.
type Local struct {
	Switch
	// Theta is the relevance, 0 to 1, below which no further feature takes part in the neighbours' distance. Default auto:
	// it and the form of the distance are chosen on the evidence at each fit. 0 takes all features. The subspace of a
	// score has no threshold: its features tell about the class beyond chance.
	Theta AutoFloat `yaml:"theta"`
	// Neighbours is the number of nearest prototypes that vote. Default 8; at most Prototypes.
	Neighbours int `yaml:"neighbours"`
	// Prototypes is the number of records that can be neighbours. Default 1024.
	Prototypes int `yaml:"prototypes"`
	// Newest is the number of records that a partition learnt last among which it seeks neighbours as well, from the next
	// record on; at most as many as 1 MiB of its state can hold. Default 2048; 0 = none.
	Newest int `yaml:"newest"`
	// Width is the width of the kernel of a feature, as a share of its range. Default 0.05.
	Width float64 `yaml:"width"`
	// Observation is the kind of scores that a Gaussian process observes. Default averaged.
	Observation Observation `yaml:"observation"`
	// Score is the form of the score of a feature. Default balanced: under hit a value that makes a rare class likely
	// scores less than one that says nothing.
	Score ScoreForm `yaml:"score"`
	// Redundancy says how the correlation with the selected features is taken off. Default mean.
	Redundancy Redundancy `yaml:"redundancy"`
	// Divergence is the measure of the relevance of a feature at a value. Default from_reference. It matters where theta,
	// given or chosen, is above 0.
	Divergence Divergence `yaml:"divergence"`
	// ReferenceSD is the standard deviation of the reference, a Gaussian of mean 0 that stands for a feature that tells
	// nothing. Default 0.05. A smaller one makes the divergences follow the mean alone; lower_bound has no reference, but
	// theta auto takes this for the deviation of a useless feature.
	ReferenceSD float64 `yaml:"reference_sd"`
	// Observations bounds the observations of one Gaussian process. Default 64; a fit costs their cube.
	Observations int `yaml:"observations"`
	// HalfLife is the memory of the class counts along the features, from which subspaces and curves are learnt: labelled
	// records of a partition, or a duration of stream time. Default 0: never forget. A short one has few records to learn
	// from, so that fewer features tell beyond chance.
	HalfLife HalfLife `yaml:"half_life"`
	// Pool keeps observations of the Gaussian processes from fit to fit.
	Pool Pool `yaml:"pool"`
}

// Pool keeps the observations of the Gaussian processes: each fit observes the scores of the records since the fit
// before, and adds them to the aged ones. Without it each fit observes all counts.
type Pool struct {
	// Bytes bounds the observations of all features in the model, the newest being kept; one takes 40. Default 0: no
	// observation is kept.
	Bytes ByteSize `yaml:"bytes"`
	// HalfLife is the time in which the variance of an observation doubles: labelled records of all partitions, or a
	// duration of stream time. Default 0: they do not age.
	HalfLife HalfLife `yaml:"half_life"`
}

// Kernel shapes the sparse mixture of one-feature kernels. `kernel: off` does without it.
type Kernel struct {
	Switch
	// Mode is the form of the linear programme. Default nonneg.
	Mode KernelMode `yaml:"mode"`
	// Widths lists the widths of the one-feature kernels on standardised values, each once, 1 to 16 of them. Default
	// 0.1, 1 and 10.
	Widths []float64 `yaml:"widths"`
	// Gamma1 is the price of a feature. Default auto: chosen on held-out triples at a fit.
	Gamma1 AutoFloat `yaml:"gamma1"`
	// Gamma2 is the price of the trace, as the cost of one unit of weight. Default auto, as Gamma1.
	Gamma2 AutoFloat `yaml:"gamma2"`
	// Triples is the number of comparisons drawn. Default 1500.
	Triples int `yaml:"triples"`
	// Shape is the form of the kernels of numbers. Default gaussian. A full one is over all features at once instead of
	// one for each; Input must be auto then, for its input is a least-squares fit with that kernel.
	Shape KernelShape `yaml:"shape"`
	// Groups are the units that have the price gamma1: all kernels of a feature together, formulation (7) of the paper,
	// or each kernel, formulation (4), which with `gamma2: 0` is formulation (3). Default features.
	Groups KernelGroups `yaml:"groups"`
	// Input is the kind of input that the kernel gives to a score. Default auto: a product of kernels where features act
	// together beyond chance; else a sum of one curve a feature in a model of files, and none in a stream.
	Input KernelInput `yaml:"input"`
}

// Trees shapes the boosted regression trees. `trees: off` does without them.
type Trees struct {
	Switch
	// Rounds is the largest number of trees that are added up for a class. Default 120. Each costs time on every record
	// where trees are kept; of many classes there are fewer, 256 trees in all.
	Rounds int `yaml:"rounds"`
	// Leaves is the largest number of leaves of a tree. Default 16. One of two leaves knows one feature, one of more
	// knows features together.
	Leaves int `yaml:"leaves"`
	// Rate is the factor of the value of a leaf. Default 0.15. A smaller one needs more rounds. Where more than four
	// classes leave each other fewer rounds, the factor is larger, up to 0.5 (model/trees/METHOD.md 3).
	Rate float64 `yaml:"rate"`
	// Gate is the number of standard errors by which trees must lower the log-loss of records that they were not fitted
	// on, else a fit keeps none. Default 3. 0 keeps trees that lower it at all.
	Gate float64 `yaml:"gate"`
	// HalfLife is the memory of the class counts of leaves between two fits, in labelled records of a partition. Default
	// 0: until the next fit.
	HalfLife float64 `yaml:"half_life"`
}

// Drift says how a partition is watched for changes: of each feature, of missing values, of the classes, of the scores
// and of their log-loss. An alarm is in the log, the metrics, the page and the model topic. `drift: off` watches
// nothing. A change of this section has a state carried over, and the watch begins anew.
type Drift struct {
	Switch
	// FalseAlarms is the expected number of false alarms in 100,000 records of a partition, of all alarms together, when
	// the records are drawn alike and one by one. Default 0.01. A larger one finds smaller changes.
	FalseAlarms float64 `yaml:"false_alarms"`
}

// Fit says when a model is fitted anew and bounds the cost.
type Fit struct {
	// Every is the shortest time between two fits. Default 60s.
	Every Duration `yaml:"every"`
	// Records is the number of labelled records, over all partitions, from one verdict on a new model to the next. A model
	// is fitted when four fifths of them are there, or all but 1,000 if that is later, and is compared with the serving
	// one on the rest, which neither has learnt. Default 5000.
	Records int `yaml:"records"`
	// Early fits the next model after a fifth of Records, or 1,000 if that is less, where an alarm of drift says that the
	// log-loss has risen. Default false: the scorecard follows most changes by itself.
	Early bool `yaml:"early"`
	// Warmup is the number of labelled records before the first model, over all partitions. A partition that has learnt
	// so many by itself and does not have that model yet builds a scorecard of its own, where that takes little work;
	// until then scores are base rates with status untrained. Default 500.
	Warmup int `yaml:"warmup"`
	// Reservoir bounds the sample of older records.
	Reservoir Reservoir `yaml:"reservoir"`
	// Budget bounds the time of one fit. Default 20s. A fit that takes longer is given up, and made again with less work:
	// it leaves out features or records. As long as there is no model, the time is doubled, too, up to six times.
	Budget Duration `yaml:"budget"`
	// Gate is how much worse, in nats of log-loss on labelled records that neither it nor the serving model has learnt, a
	// new model may be and still be published. Default 0.005.
	Gate float64 `yaml:"gate"`
	// Keep bounds the published models that stay in the model topic, to look at and to go back to.
	Keep Keep `yaml:"keep"`
	// Seed starts every random choice. Default 1. Another seed is another, equally good, sample.
	Seed int64 `yaml:"seed"`
}

// Keep bounds the newest versions that the model topic keeps; the first bound that is met holds. A version that serves,
// or that a state needs to be read, stays in any case.
type Keep struct {
	// Versions bounds their number. Default 20.
	Versions int `yaml:"versions"`
	// Bytes bounds their size as they lie in the topic, compressed. Default 0: 3 GiB.
	Bytes ByteSize `yaml:"bytes"`
}

// Reservoir bounds the sample of older records of a partition; the first bound that is met holds.
type Reservoir struct {
	// Records bounds their number. Default 65536.
	Records int `yaml:"records"`
	// Bytes bounds their size. Default 64MiB.
	Bytes ByteSize `yaml:"bytes"`
}
