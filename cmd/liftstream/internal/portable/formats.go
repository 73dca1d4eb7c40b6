package portable

import "io"

// writers are the formats, in the order in which help lists them.
var writers = []struct {
	name  string
	write func(*Card, io.Writer) error
}{{"csv", (*Card).CSV}, {"json", (*Card).JSON}, {"sql", (*Card).SQL}, {"onnx", (*Card).ONNX}, {"pmml", (*Card).PMML}}

// Formats returns the names of the formats.
func Formats() []string {
	var names []string
	for _, x := range writers {
		names = append(names, x.name)
	}
	return names
}

// Write writes the card in the format of that name, one of Formats.
func (c *Card) Write(w io.Writer, format string) error {
	for _, x := range writers {
		if x.name == format {
			return x.write(c, w)
		}
	}
	panic("portable: no format " + format)
}
