package config

import "slices"

// checkCells holds the keys of a feature's cells against each other and the rest of the record.
func checkCells(d checker, feature string, f *Feature, missing []string) {
	checkSpecial(d, feature+".special", f, missing)
	checkCuts(d, feature, f)
}

// checkTrend refuses cells whose rates go one way where no class is positive.
func checkTrend(d checker, feature string, f *Feature, label *Label) {
	if path := feature + ".bins.monotone"; d.given(path) && label.Positive == "" && len(label.Classes) > 2 &&
		!d.bad["record.label.classes"] && !d.bad["record.label.positive"] && !d.bad[path] {
		d.report(path, "", "%s needs record.label.positive: it is about the rate of the positive class", path)
	}
}

// checkSpecial holds the special codes of a feature against its kind and the texts that mean "missing".
func checkSpecial(d checker, path string, f *Feature, missing []string) {
	switch n := len(f.Special); {
	case !d.given(path):
		return
	case f.Kind != KindContinuous && f.Kind != "":
		d.report(path, "", "%s: a level is a cell of its own already: special is for the codes of continuous features", path)
	case n == 0:
		d.report(path, "", "%s is empty: leave the key out where no number is a code", path)
	case n > MaxSpecial:
		d.report(path, "", "%s lists %d codes; at most %d are possible", path, n, MaxSpecial)
	}
	codes := make([]string, len(f.Special))
	for i, v := range f.Special {
		codes[i] = formatFloat(v)
		if p := elementPath(path, i); slices.Contains(missing, codes[i]) {
			d.report(p, "", "%s: %s means missing already, by record.missing: it cannot be a code too", p,
				d.shown(p, codes[i]))
		}
	}
	d.unique(path, codes)
}

// checkCuts holds the cuts and bins of a feature against its kind and each other.
func checkCuts(d checker, feature string, f *Feature) {
	cuts, bins := feature+".cuts", feature+".bins"
	other := f.Kind != KindContinuous && f.Kind != ""
	switch n := len(f.Cuts); {
	case d.given(bins) && other:
		d.report(bins, "", "%s: levels are cells already: bins is for continuous features", bins)
	case d.given(bins) && d.given(cuts):
		d.report(bins, "", "%s: the cells are those of cuts, as they are: leave one of both out", bins)
	case f.Bins != nil && !d.bad[bins+".min"] && !(f.Bins.Min > 0 && f.Bins.Min < 1):
		d.report(bins+".min", "", "%s.min must be above 0 and below 1, not %s: it is a share of the numbers", bins,
			d.shown(bins+".min", formatFloat(f.Bins.Min)))
	case !d.given(cuts):
	case other:
		d.report(cuts, "", "%s: levels are cells already: cuts is for continuous features", cuts)
	case n == 0:
		d.report(cuts, "", "%s is empty: leave the key out for cells that a fit chooses", cuts)
	case n > MaxCuts:
		d.report(cuts, "", "%s lists %d cuts; at most %d are possible", cuts, n, MaxCuts)
	}
	for i := 1; i < len(f.Cuts); i++ {
		if p := elementPath(cuts, i); !(f.Cuts[i-1] < f.Cuts[i]) {
			d.report(p, "", "%s: %s does not lie above the cut before, %s: cuts ascend", p,
				d.shown(p, formatFloat(f.Cuts[i])), d.shown(elementPath(cuts, i-1), formatFloat(f.Cuts[i-1])))
			return
		}
	}
}
