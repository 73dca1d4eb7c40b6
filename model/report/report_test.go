package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestUndefinedIsNull(t *testing.T) {
	b, err := json.Marshal([]Number{1, Number(math.NaN()), Number(math.Inf(1)), 0.1, 581012})
	if err != nil || string(b) != "[1,null,null,0.1,581012]" {
		t.Fatalf("%s, %v", b, err)
	}
}

func TestTestsKeepTheirOrder(t *testing.T) {
	const want = `{"poutcome":"success","age":"(30, 35]","a \"b\"":""}`
	b, err := json.Marshal(Tests{{"poutcome", "success"}, {"age", "(30, 35]"}, {"a \"b\"", ""}})
	if err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

// TestReportKeys holds the names that REPORT.md 1 promises.
func TestReportKeys(t *testing.T) {
	r := Report{Sets: []Set{{}}, Windows: []Window{{}}, Profiles: []Profile{{}}, Features: []Feature{{WOE: []WOE{{}}}},
		Local: &Local{Curves: []Curve{{}}}, Kernel: &Kernel{Weights: []KernelWeight{{}}},
		Seconds: Seconds{{"read", 0}, {"lift", 0}, {"local", 0}, {"kernel", 0}}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	first := func(v any) map[string]any {
		if l, ok := v.([]any); ok {
			v = l[0]
		}
		return v.(map[string]any)
	}
	for path, keys := range map[string][]string{
		"": {"name", "records", "labelled", "classes", "base_rates", "sets", "windows", "profiles", "features",
			"local", "kernel", "seconds"},
		"sets": {"features", "eta", "eta_corrected", "eta_leave_one_out", "n", "levels", "cuts", "counts", "lift",
			"lift_low", "lift_high", "cell_eta"},
		"windows": {"features", "levels", "eta", "eta_corrected", "eta_low", "eta_high", "n", "mass", "folded"},
		"profiles": {"class", "profile", "lift", "lift_low", "lift_high", "lift_all", "validated_lift", "validated_low",
			"validated_high", "validated_among",
			"n", "n_x", "n_xy", "n_y", "q_value", "confirmed", "refinements", "folded"},
		"features":     {"name", "information_value", "information_value_raw", "woe", "auc", "warnings"},
		"local":        {"theta", "half_life", "curves", "useless", "prototypes", "neighbours", "distance"},
		"kernel":       {"mode", "status", "objective", "bound", "features", "weights"},
		"seconds":      {"read", "lift", "local", "kernel"},
		"features/woe": {"cell", "n", "woe", "woe_raw"},
		"local/curves": {"feature", "length_scale", "signal_sd", "noise_sd", "observations", "log_marginal_likelihood",
			"mean_bound", "variance_bound", "neutral", "grid", "mean", "sd"},
		"kernel/weights": {"feature", "width", "alpha"},
	} {
		at := m
		if path != "" {
			for _, p := range strings.Split(path, "/") {
				at = first(at[p])
			}
		}
		for _, k := range keys {
			if _, ok := at[k]; !ok {
				t.Errorf("%q has no %q", path, k)
			}
		}
		if path != "" && len(at) != len(keys) {
			t.Errorf("%q has %d keys, want %d", path, len(at), len(keys))
		}
	}
}
