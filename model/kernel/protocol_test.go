package kernel

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// shared returns the path of a file that is not shipped.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("LIFTSTREAM_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: %s is missing; set LIFTSTREAM_SHARED to the folder that holds it", name)
	}
	return path
}

// readSet reads a data file of numbers whose last column is the class.
func readSet(t testing.TB, set string) *model.Evidence {
	t.Helper()
	f, err := os.Open(shared(t, "data/"+set+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	s := &model.Schema{Positive: -1}
	ev := &model.Evidence{Schema: s}
	class := map[string]int32{}
	for i, name := range strings.Split(lines.Text(), ",") {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("%02d %s", i, name)})
	}
	s.Features = s.Features[:len(s.Features)-1]
	ev.Columns = make([][]float64, len(s.Features))
	for lines.Scan() {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		last := len(cells) - 1
		for k := range last {
			v, err := strconv.ParseFloat(cells[k], 64)
			if err != nil {
				t.Fatal(err)
			}
			ev.Columns[k] = append(ev.Columns[k], v)
		}
		c, ok := class[cells[last]]
		if !ok {
			c = int32(len(class))
			class[cells[last]] = c
			s.Classes = append(s.Classes, cells[last])
		}
		ev.Class = append(ev.Class, c)
		ev.Weight = append(ev.Weight, 1)
	}
	return ev
}

// readSplits reads the splits and triples of every set.
func readSplits(t testing.TB) map[string][]Split {
	t.Helper()
	f, err := os.Open(shared(t, "oracles/kernel_triples.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string][]struct {
		Train, Test  []int32
		TrainTriples [][3]int32 `json:"train_triples"`
		TestTriples  [][3]int32 `json:"test_triples"`
	}
	if err := json.NewDecoder(z).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	out := map[string][]Split{}
	for set, list := range raw {
		for _, x := range list {
			out[set] = append(out[set], Split{x.Train, x.Test, x.TrainTriples, x.TestTriples})
		}
	}
	return out
}

var sets = []string{"boston_housing", "ionosphere", "iris", "wine", "balance_scale", "wdbc", "soybean_small", "protein_xing", "pima_diabetes"}

func meanError(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / float64(len(v)-1) / float64(len(v)))
}
