package config

import "slices"

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
