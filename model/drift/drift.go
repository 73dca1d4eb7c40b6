// Package drift finds the places where a stream of numbers changes: detectors of the literature that take one number
// at a time, in bounded memory, and answer alike whenever the numbers are alike. They know no records and no models;
// package model gives them the records of a partition, package evaluate the losses of a method.
//
// Begin at Watch, which joins them over the records of a partition (METHOD.md); ADWIN and PageHinkley stand alone.
package drift

// Detector takes the numbers of a stream one by one. One detector belongs to one caller at a time.
type Detector interface {
	// Add takes the next number and reports whether the stream has changed. NaN and infinite numbers are passed over
	// and report false.
	Add(x float64) bool
}
