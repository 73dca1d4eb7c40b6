package assemble

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"liftstream/config"
	"liftstream/model"
)

// root is the folder of the repository.
const root = "../../../.."

// page reads a page of the repository.
func page(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEveryComponentIsComplete: a row of the table has the parts that CONTRIBUTING.md 2 asks for, a section of the
// configuration, and its lines in the pages. A forgotten one is named here.
func TestEveryComponentIsComplete(t *testing.T) {
	names := make([]string, len(components))
	for i := range components {
		names[i] = components[i].name
	}
	for _, x := range components {
		t.Run(x.name, func(t *testing.T) {
			for _, fault := range slices.Concat(folderFaults(t, x.name, names), switchFaults(t, &x), pageFaults(t, &x)) {
				t.Error(fault)
			}
		})
	}
}

// formatNumber is a constant with the number of a binary form.
var formatNumber = regexp.MustCompile(`(?m)^\s*(?:const )?\w*[fF]ormat\s+= (\d+)`)

// folderFaults tells which parts the folder of a component lacks.
func folderFaults(t *testing.T, name string, all []string) (faults []string) {
	t.Helper()
	dir := "model/" + name + "/"
	read := func(file string) string {
		b, err := os.ReadFile(filepath.Join(root, dir, file))
		if err != nil || strings.TrimSpace(string(b)) == "" {
			faults = append(faults, "there is no "+dir+file)
		}
		return string(b)
	}
	read("METHOD.md")
	form, suite := read("FORMAT.md"), read("conformance_test.go")
	if !strings.Contains(suite, "modeltest.Suite{") {
		faults = append(faults, dir+"conformance_test.go does not run modeltest.Suite")
	}
	if golden, _ := filepath.Glob(filepath.Join(root, dir, "testdata/format-*.gz")); len(golden) == 0 {
		faults = append(faults, "no golden file "+dir+"testdata/format-1.gz")
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	numbers := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range formatNumber.FindAllStringSubmatch(string(code), -1) {
			numbers++
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(form) {
				faults = append(faults, fmt.Sprintf("%sFORMAT.md does not tell of format %s", dir, m[1]))
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, code, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			other, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "liftstream/model/")
			if ours && other != name && slices.Contains(all, other) {
				faults = append(faults, fmt.Sprintf("%s imports the component %s", filepath.Base(file), other))
			}
		}
	}
	if numbers == 0 {
		faults = append(faults, dir+" has no constant with the number of its format")
	}
	return faults
}

// switchFaults tells where the switch of a component lacks the effect that config.Switch promises. A silent component
// is switched by a key of another section.
func switchFaults(t *testing.T, x *component) (faults []string) {
	t.Helper()
	if x.base || x.silent {
		return nil
	}
	if x.off == nil {
		return []string{"no configuration switches it off"}
	}
	was := stage(t, fourth).Config
	if x.off(was) {
		return nil // it is off until its section is given
	}
	none := func(string) (string, bool) { return "", false }
	c, _, err := config.Parse("test.yaml", []byte(fourth+x.name+": off\n"), none)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("config.Config has no section %s with a Switch: %v", x.name, err)}
	case !x.off(c):
		faults = append(faults, "off does not read the switch of the section")
	}
	if c.Fingerprint() == was.Fingerprint() {
		faults = append(faults, x.name+" is not among config/dump.go shapers: off leaves the fingerprint of a state")
	}
	if c.Frame() != was.Frame() {
		faults = append(faults, x.name+" is not among config/dump.go unframed: off begins a state anew")
	}
	return faults
}

// pageFaults tells which pages do not speak of a component.
func pageFaults(t *testing.T, x *component) (faults []string) {
	t.Helper()
	needs := func(path, text string) {
		if !strings.Contains(page(t, path), text) {
			faults = append(faults, fmt.Sprintf("%s does not name %s", path, text))
		}
	}
	for _, path := range []string{"ARCHITECTURE.md", "README.md"} {
		needs(path, "model/"+x.name+"/METHOD.md")
	}
	needs("CONTRIBUTING.md", "model/"+x.name+"/FORMAT.md")
	if x.silent {
		return faults
	}
	glossary := regexp.MustCompile(`(?m)^\| component \| (.*) \|$`).FindStringSubmatch(page(t, "ARCHITECTURE.md"))
	if glossary == nil || !strings.Contains(glossary[1], x.name) {
		faults = append(faults, fmt.Sprintf("ARCHITECTURE.md 6, the word component, does not name %s", x.name))
	}
	s := stage(t, fourth).Spec.Schema
	if c, ok := x.factory(stage(t, fourth).Config, s).(model.Contributor); ok && c.Contribution().Inputs > 0 {
		needs("codec/CONTRACT.md", "`"+c.Contribution().Term+"`")
	}
	return faults
}

// TestIncompleteComponentsAreFound: the check above tells of each forgotten part.
func TestIncompleteComponentsAreFound(t *testing.T) {
	withStump(t)
	x := &components[len(components)-1]
	x.off = func(*config.Config) bool { return false }
	got := strings.Join(slices.Concat(folderFaults(t, x.name, nil), switchFaults(t, x), pageFaults(t, x)), "\n")
	for _, want := range []string{"there is no model/stump/METHOD.md", "there is no model/stump/FORMAT.md",
		"does not run modeltest.Suite", "no golden file model/stump/", "no constant with the number",
		"config.Config has no section stump", "ARCHITECTURE.md does not name", "README.md does not name",
		"CONTRIBUTING.md does not name", "the word component, does not name stump",
		"codec/CONTRACT.md does not name `(stump)`"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, got)
		}
	}
	if got := strings.Join(folderFaults(t, "local", []string{"local", "gp"}), "\n"); !strings.Contains(got,
		"imports the component gp") {
		t.Errorf("an import of another component is not found: %q", got)
	}
	if got := switchFaults(t, &component{name: "fit", off: func(*config.Config) bool { return false }}); len(got) == 0 {
		t.Error("a section without a Switch is not found")
	}
}

// TestEveryPowerIsNamed: the optional powers of components and factories stand in the step of CONTRIBUTING.md that has
// a component take them.
func TestEveryPowerIsNamed(t *testing.T) {
	_, steps, ok := strings.Cut(page(t, "CONTRIBUTING.md"), "\n## 2 Add a component\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section 2 of that title")
	}
	steps, _, _ = strings.Cut(steps, "\n## ")
	for _, file := range []string{"model/powers.go", "model/report/powers.go"} {
		powers := regexp.MustCompile(`(?m)^// (\w+) is a (?:C|c)omponent|^// (\w+) is a Factory`)
		found := powers.FindAllStringSubmatch(page(t, file), -1)
		if len(found) < 3 {
			t.Errorf("%s: powers %q", file, found)
		}
		for _, m := range found {
			if name := m[1] + m[2]; !strings.Contains(steps, "`"+name+"`") {
				t.Errorf("CONTRIBUTING.md 2 does not name %s of %s", name, file)
			}
		}
	}
}
