//go:build !amd64

package propensity

const lanes, fused = false, false

func logLanes(*float64, int, *[128][2]float64) int                 { panic("no lanes") }
func ratioLanes(_, _, _ *float64, _ float64, _, _ *float64, _ int) { panic("no lanes") }
func sumLanes(*[cards]float64, *pair, *float64, int)               { panic("no lanes") }
func stepLanes(*pair, *float64, *[cards]uint64, int, *[cards]float64, *[cards]float64) {
	panic("no lanes")
}

func sigmoidLanes(*float64, int)                                                { panic("no lanes") }
func featureLanes(*[cards]float64, *pair, *float64, int, *pair, *pair, float64) { panic("no lanes") }
func belowLanes(*float64, int, float64) int                                     { panic("no lanes") }
func effectLanes(*[cards]float64, *pair, *float64, int, *pair, *pair, float64, *pair, float64) float64 {
	panic("no lanes")
}
func quickLanes(*quickArgs)  { panic("no lanes") }
func expLanes(*float64, int) { panic("no lanes") }
