package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/model/evaluate"
)

// TestAReportColumnIsInNoScore: its values, of either kind and with missing ones, change the groups of that column and
// no other byte of the result or the scores, at once, with late labels and in folds, by all components.
func TestAReportColumnIsInNoScore(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(configuration, "{name: c, kind: nominal, use: report}",
		"{name: c, kind: nominal, use: report}, {name: fold, kind: continuous, use: report}", 1) +
		"segments: {high: a > 5 & b < 9, odd: c = 1}\nmin_count: 10\n"
	conf := filepath.Join(dir, "g.yaml")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, late := range []string{prequential, "late", folds} {
		protocol, delay := late, 0
		if late == "late" {
			protocol, delay = prequential, 30
		}
		measured := func(name string, turn func(i int) (c, fold string)) (*evaluate.Result, []byte) {
			path, scores := filepath.Join(dir, name+".csv"), filepath.Join(dir, name+".jsonl")
			var b strings.Builder
			b.WriteString("id,a,b,c,y,fold\n")
			for i := range 250 {
				c, fold := turn(i)
				fmt.Fprintf(&b, "r%d,%d,%d,%s,%s,%s\n", i, i*7%10, i*13%17, c, []string{"no", "yes"}[i*7%10/6], fold)
			}
			if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			e := flags()
			e.Protocol, e.Configs, e.Skip, e.Folds, e.Scores = protocol, []string{conf}, 50, 2, scores
			e.Methods, e.Delay = []string{"all"}, delay
			var r evaluate.Result
			if _, err := run(t, e, path, &r); err != nil {
				t.Fatal(err)
			}
			written, err := os.ReadFile(scores)
			if err != nil {
				t.Fatal(err)
			}
			return &r, written
		}
		plain, want := measured("plain", func(i int) (string, string) { return fmt.Sprint(i % 3), fmt.Sprint(i) })
		other, got := measured("other", func(i int) (string, string) {
			return []string{"1", "", "a long level of its own"}[i*5%7%3], []string{"", "1e9", "-3"}[i%3]
		})
		if !bytes.Equal(want, got) || len(want) == 0 {
			t.Errorf("%s: the report columns change scores", late)
		}
		if fmt.Sprint(plain.Methods["all"]) != fmt.Sprint(other.Methods["all"]) ||
			fmt.Sprint(plain.Groups.All) != fmt.Sprint(other.Groups.All) ||
			fmt.Sprint(plain.Groups.Segments[0]) != fmt.Sprint(other.Groups.Segments[0]) {
			t.Errorf("%s: the report columns change figures of others", late)
		}
		if fmt.Sprint(plain.Groups.Columns) == fmt.Sprint(other.Groups.Columns) ||
			fmt.Sprint(plain.Groups.Segments[1]) == fmt.Sprint(other.Groups.Segments[1]) {
			t.Errorf("%s: the groups do not follow their columns", late)
		}
		if s := plain.Groups.Segments[0]; s.Group.Group != "high" || s.Rate != 1 || s.Records < 10 {
			t.Errorf("%s: segment %+v, whose records are all positive", late, s.Group)
		}
	}
}
