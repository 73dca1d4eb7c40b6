package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 16 << 20

// YAML takes braces in a plain value inside {...} for a mapping, but people write {token: ${TOKEN}}. The
// braces of ${NAME} are therefore exchanged, before parsing, for two code points that no text may hold, and back after.
const (
	openMark  = "\ufdd0"
	closeMark = "\ufdd1"
)

// parse returns the root mapping of the one document in data, or nil after a problem.
func (d *decoder) parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		d.reportLine(1, "", "the file is larger than %s", ByteSize(maxFile))
		return nil
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			d.reportLine(n+1, "", "the file is not UTF-8 text")
			return nil
		}
		if bytes.Contains(line, []byte(openMark)) || bytes.Contains(line, []byte(closeMark)) {
			d.reportLine(n+1, "", "the characters U+FDD0 and U+FDD1 are not for texts")
			return nil
		}
	}
	data = reference.ReplaceAll(data, []byte("$$"+openMark+"${1}"+closeMark))
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := in.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.reportLine(1, "", "the configuration is empty")
		return nil
	case err != nil:
		d.syntax(err, data)
		return nil
	}
	if err := in.Decode(&next); err == nil {
		d.reportLine(next.Line, "", "a second document begins here: a configuration is one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err, data)
		return nil
	}
	switch root := doc.Content[0]; {
	case isEmpty(root):
		d.reportLine(1, "", "the configuration is empty")
		return nil
	case root.Kind != yaml.MappingNode:
		d.reportLine(root.Line, "", "the configuration must be a section with keys, not %s", kindName(root))
		return nil
	default:
		return root
	}
}

func (d *decoder) syntax(err error, data []byte) {
	message := unmark.Replace(err.Error())
	line := 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		alias := regexp.MustCompile(`(?m)^[^#\n]*\*` + regexp.QuoteMeta(m[1]))
		if at := alias.FindIndex(data); at != nil {
			line = 1 + bytes.Count(data[:at[1]], []byte("\n"))
		}
		message = "alias *" + clip(m[1]) + " has no anchor, and aliases are not supported: write the value out"
	}
	d.reportLine(line, "", "not valid YAML: %s", message)
}

// forbid reports forms that YAML allows and a configuration does not, and restores the braces of ${NAME}. Anchors,
// aliases and merge keys are refused because they hide where a value comes from, tags because every key has its type.
func (d *decoder) forbid(n *yaml.Node) {
	n.Value = unmark.Replace(n.Value)
	switch {
	case n.Kind == yaml.AliasNode:
		d.reportLine(n.Line, "", "aliases (*%s) are not supported: write the value out", clip(n.Value))
	case n.Anchor != "":
		d.reportLine(n.Line, "", "anchors (&%s) are not supported: write the value out where it is needed", clip(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		d.reportLine(n.Line, "", "tags (%s) are not supported: every key has its type", clip(n.Tag))
	}
	for _, c := range n.Content {
		d.forbid(c)
	}
}

func clip(t string) string { return strings.Trim(quote(t), `"`) }
