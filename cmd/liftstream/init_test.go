package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// TestInitOfAwkwardFiles: the proposal of init passes lint, fit and eval, and tells the owner of each doubt.
func TestInitOfAwkwardFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it fits a dozen files")
	}
	u := func(i, k int) float64 { return float64(model.Hash(23, uint64(i), uint64(k))>>11) / (1 << 53) }
	label := func(i int) string { return []string{"no", "yes"}[int(2*u(i, 9))] }
	for _, c := range []struct {
		name, head string
		row        func(i int) string
		config     []string // that it has
		said       []string
	}{
		{"leading.csv", "zip,x,y", func(i int) string { return fmt.Sprintf("0%d,%d,%s", 2100+i%40, i*7919%503, label(i)) },
			[]string{"{name: zip, kind: nominal}", "1,300 with leading zeros"}, nil},
		{"quoted.csv", `"code","x","y"`, func(i int) string {
			return fmt.Sprintf(`"%d",%d,"%s"`, i*7%101, i*7919%503, label(i))
		}, []string{"{name: code, kind: nominal}", "{name: x, kind: continuous}"}, nil},
		{"namibia.csv", "country,x,y", func(i int) string {
			return fmt.Sprintf(`"%s",%d,%s`, []string{"NA", "DE"}[i%2], i*7919%503, label(i))
		}, []string{`missing: ["", "?"]`, "2 levels: DE 650, NA 650"}, []string{`650 cells "NA" are in quotes`}},
		{"tokens.csv", "amount,x,y", func(i int) string {
			v := strconv.Itoa(i * 7919 % 1009)
			if i%50 == 3 {
				v = "withheld"
			}
			return fmt.Sprintf("%s,%d,%s", v, i*7919%503, label(i))
		}, []string{"{name: amount, kind: continuous}", `26 cells of this file: 26 "withheld"`},
			[]string{`amount: 26 cells "withheld" treated as missing`}},
		{"epoch.csv", "seen_at,x,y", func(i int) string {
			return fmt.Sprintf("%d,%d,%s", 1760000000+60*i, i*7919%503, label(i))
		}, []string{"time: {column: seen_at, unit: s}"}, nil},
		{"slash.csv", "seen_at,x,y", func(i int) string {
			return fmt.Sprintf("2025/10/%02d 08:%02d:00,%d,%s", 1+i/60, i%60, i*7919%503, label(i))
		}, []string{"time: seen_at"}, nil},
		{"holes.csv", "customer_id,x,y", func(i int) string {
			id := fmt.Sprintf("C%05d", i)
			if i%400 == 7 {
				id = ""
			}
			return fmt.Sprintf("%s,%d,%s", id, i*7919%503, label(i))
		}, []string{"# id: COLUMN"}, []string{"4 records without it"}},
		{"sorted.csv", "x,y", func(i int) string { return fmt.Sprintf("%d,%s", i*7919%503, []string{"no", "yes"}[i/650]) },
			nil, []string{"the file is sorted by it"}},
		{"flags.csv", "on,tier,x,y", func(i int) string {
			return fmt.Sprintf("%s,%d.0,%d,%s", []string{"True", "False"}[i%2], 1+i%3, i*7919%503,
				[]string{"0.0", "1.0"}[int(2*u(i, 9))])
		}, []string{`classes: ["1", "0"]`, "{name: tier, kind: nominal}", "false 650, true 650"}, nil},
		{"big.jsonl", "", func(i int) string {
			return fmt.Sprintf(`{"who": %d, "x": %d, "y": %q, "nested": {"a": [%d]}}`, 1777134800018164000+int64(i), i*7919%503,
				label(i), i%2)
		}, []string{"id: who"}, nil},
		{"unsigned.jsonl", "", func(i int) string {
			return fmt.Sprintf(`{"who": %d, "x": %d, "y": %v}`, 17771348000181640000+uint64(i), i*7919%503, u(i, 9) < .5)
		}, []string{"id: who", `"false"`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var b strings.Builder
			if c.head != "" {
				b.WriteString(c.head + "\n")
			}
			for i := range 1300 {
				b.WriteString(c.row(i) + "\n")
			}
			if err := os.WriteFile(c.name, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			r := must(t, "init", c.name, "--label", "y")
			for _, want := range c.config {
				if !strings.Contains(r.out, want) {
					t.Errorf("the configuration lacks %q:\n%s", want, r.out)
				}
			}
			for _, want := range c.said {
				if !strings.Contains(r.err, want) {
					t.Errorf("init does not say %q:\n%s", want, r.err)
				}
			}
			if err := os.WriteFile("c.yaml", []byte(r.out), 0o600); err != nil {
				t.Fatal(err)
			}
			must(t, "lint", "c.yaml")
			must(t, "fit", "-c", "c.yaml", c.name, "-m", "m")
			must(t, "eval", "-c", "c.yaml", c.name, "--method", "lift", "--skip", "100")
			must(t, "score", "-c", "c.yaml", "-m", "m", c.name, "--out", "s.csv")
		})
	}
}
