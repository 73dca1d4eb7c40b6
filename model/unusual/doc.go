// Package unusual finds records that lie outside the learnt ones: a number beyond the ends of the numbers of a feature,
// a level that is new or rare, a value missing where it never is. At most a stated share of ordinary records is called
// so (METHOD.md). It is a component without inputs: no score depends on it.
//
// Begin at Factory; Component.Unusual answers for a record.
package unusual
