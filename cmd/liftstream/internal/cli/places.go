package cli

import (
	"os"
	"path/filepath"
)

// Place is a file that a command line names, and the flag that names it; empty for the data files.
type Place struct{ Flag, Path string }

// Apart reports outputs that would overwrite an input of the same command, or each other. Two may be the same pipe or
// device, but not both standard output.
func Apart(inputs []Place, outputs ...Place) error {
	for i, out := range outputs {
		if out.Path == "" {
			continue
		}
		for _, in := range inputs {
			if in.Path != "" && out.Path != "-" && sameFile(in.Path, out.Path) {
				role := "the data"
				if in.Flag != "" {
					role = "--" + in.Flag
				}
				return Usagef("--%s %s would overwrite what is read as %s; name another file", out.Flag, out.Path, role)
			}
		}
		for _, other := range outputs[:i] {
			if other.Path == out.Path || other.Path != "" && sameFile(other.Path, out.Path) {
				return Usagef("--%s and --%s are both %s; name two files", other.Flag, out.Flag, out.Path)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are of one regular file, which need not exist yet.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, missing := os.Stat(b)
	switch {
	case err == nil && missing == nil:
		return x.Mode().IsRegular() && os.SameFile(x, y)
	case err != nil && missing != nil && a != "-" && b != "-":
		a, err = filepath.Abs(a)
		b, missing = filepath.Abs(b)
		return err == nil && missing == nil && a == b
	}
	return false
}

// Places are the data files of a command line beside the files that its flags name.
func Places(data []string, flags ...Place) []Place {
	for _, d := range data {
		flags = append(flags, Place{"", d})
	}
	return flags
}
