package evaluate

import "math"

// Baselines are the accuracies of two forecasts that look at no feature, on the records that are counted. Both know
// the labels that the methods know: with a delay of D records those of the records up to t - D - 1 at record t. Labels
// of skipped records are known too. Both answer the first class before the first label.
type Baselines struct {
	// NoChange says the class of the newest known label.
	NoChange Number `json:"no_change_accuracy"`
	// Majority says the class of the largest weight among all known labels; of equal ones the first class counts.
	Majority Number `json:"majority_accuracy"`
}

// knownLabel is the class of a record.
type knownLabel struct {
	index  int64
	class  int32
	weight float64
}

// baselines computes both on the records of s, which is in stream order; before holds the labelled records that were
// skipped. NaN without weight.
func (s *Set) baselines(before []knownLabel, delay int) Baselines {
	n := make([]float64, s.Classes)
	var newest, most int32
	var w, same, majority float64
	known := 0
	at := func(i int) knownLabel {
		if i < len(before) {
			return before[i]
		}
		i -= len(before)
		return knownLabel{s.Index[i], s.Class[i], s.Weight[i]}
	}
	for i := range s.Class {
		for ; known < len(before)+i; known++ {
			l := at(known)
			if l.index > s.Index[i]-int64(delay)-1 {
				break
			}
			newest = l.class
			n[l.class] += l.weight
			if n[l.class] > n[most] || n[l.class] == n[most] && l.class < most {
				most = l.class
			}
		}
		w += s.Weight[i]
		if s.Class[i] == newest {
			same += s.Weight[i]
		}
		if s.Class[i] == most {
			majority += s.Weight[i]
		}
	}
	return Baselines{NoChange: Number(same / w), Majority: Number(majority / w)}
}

// Kappa is the agreement of the likeliest classes with the true ones beyond chance (Cohen, Educational and
// Psychological Measurement 20, 1960):
//
//	(a - e) / (1 - e),  e = sum_c share(likeliest = c) share(true = c),
//
// with the accuracy a. NaN without weight, and where one class alone is said and true.
func (s *Set) Kappa() float64 {
	said, are := make([]float64, s.Classes), make([]float64, s.Classes)
	var w, e float64
	for i, y := range s.Class {
		said[segment(s.P[i*s.Classes:(i+1)*s.Classes])] += s.Weight[i]
		are[y] += s.Weight[i]
		w += s.Weight[i]
	}
	for c := range said {
		e += said[c] / w * (are[c] / w)
	}
	a, _ := s.Accuracy()
	return beyond(a, e)
}

// beyond is the accuracy a over that of another forecast: 1 = never wrong, 0 = as good as that one. The temporal kappa
// of Zliobaite, Bifet, Read, Pfahringer and Holmes (Machine Learning 98, 2015, equation 6) is that over the accuracy of
// the forecast of no change. NaN where the other is never wrong.
func beyond(a, other float64) float64 {
	if other == 1 {
		return math.NaN()
	}
	return (a - other) / (1 - other)
}
