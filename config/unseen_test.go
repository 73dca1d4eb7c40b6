package config

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"liftstream/model/modeltest"
)

// TestEachValueMayBeUnseen: a file is checked away from the environment in which it runs. A reference to a value that
// is not seen is no problem.
func TestEachValueMayBeUnseen(t *testing.T) {
	modeltest.Computes(t)
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// yaml takes the braces of a plain value for a mapping, see parse.
	text = regexp.MustCompile(`: (\$\{[A-Z_]+\})`).ReplaceAll(text, []byte(`: "$1"`))
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	tried := 0
	var try func(n *yaml.Node, path string)
	try = func(n *yaml.Node, path string) {
		switch n.Kind {
		case yaml.DocumentNode:
			try(n.Content[0], path)
		case yaml.SequenceNode:
			for i, c := range n.Content {
				try(c, elementPath(path, i))
			}
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				try(n.Content[i+1], join(path, n.Content[i].Value))
			}
		case yaml.ScalarNode:
			was := *n
			n.Value, n.Style, n.Tag = "${UNSEEN}", yaml.DoubleQuotedStyle, ""
			var b bytes.Buffer
			if err := yaml.NewEncoder(&b).Encode(&root); err != nil {
				t.Fatal(err)
			}
			*n = was
			c, _, err := Parse("full.yaml", b.Bytes(), nil)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if whole := c.Unseen(); whole != regexp.MustCompile(`^(record|segments|derive)\.`).MatchString(path) {
				t.Errorf("%s: unseen %v", path, whole)
			}
			tried++
		}
	}
	try(&root, "")
	if tried < 150 {
		t.Errorf("%d values were tried", tried)
	}
}
