package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"liftstream/config"
	"liftstream/model"
)

// Load reads the configuration of -c and prints its warnings.
func (a *App) Load(file string) (*config.Config, error) { return a.loadWith(file, os.LookupEnv) }

// LoadOffline is Load for commands that contact nobody: environment variables of the sections kafka and http need not
// be set.
func (a *App) LoadOffline(file string) (*config.Config, error) {
	_, _, err := config.Load(file, os.LookupEnv)
	var problems config.Problems
	if !errors.As(err, &problems) {
		return a.Load(file)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Unset, "kafka.") && !strings.HasPrefix(p.Unset, "http.") {
			return a.Load(file)
		}
	}
	return a.loadWith(file, func(name string) (string, bool) {
		if text, ok := os.LookupEnv(name); ok {
			return text, true
		}
		return "unset", true
	})
}

func (a *App) loadWith(file string, env func(string) (string, bool)) (*config.Config, error) {
	if file == "" {
		return nil, Usagef("the configuration is missing: give it with -c FILE; " +
			"'liftstream init DATA --label COLUMN' writes one")
	}
	c, warnings, err := config.Load(file, env)
	for _, w := range append(warnings, Twins(c)...) {
		a.Notef("%s", w)
	}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return nil, &brokenConfig{problems}
	case err != nil:
		return nil, fmt.Errorf("%w; 'liftstream init DATA --label COLUMN' writes a configuration", err)
	}
	return c, nil
}

// Twins warns of classes and levels that are one value in two texts, such as 1 and 1.0; c may be nil.
func Twins(c *config.Config) (ws []config.Warning) {
	if c == nil {
		return nil
	}
	look := func(path, what string, texts []string) {
		first := map[string]int{}
		at := func(i int) string { return fmt.Sprintf("%s[%d]", path, i) }
		for i, t := range texts {
			value := model.SameValue(t)
			if j, ok := first[value]; ok {
				ws = append(ws, c.Warning(at(i), fmt.Sprintf("%s and %s are one value in two texts: which %s a record means "+
					"depends on the spelling and the type in its file or message", c.Quote(at(j), texts[j]), c.Quote(at(i), t),
					what)))
				continue
			}
			first[value] = i
		}
	}
	look("record.label.classes", "class", c.Record.Label.Classes)
	for i := range c.Record.Features {
		look(fmt.Sprintf("record.features[%d].levels", i), "level", c.Record.Features[i].Levels)
	}
	slices.SortStableFunc(ws, func(a, b config.Warning) int { return a.Line - b.Line })
	return ws
}

// brokenConfig is returned when a configuration has problems: they are printed one a line, so that editors find them.
type brokenConfig struct{ problems config.Problems }

// Error lists the problems.
func (e *brokenConfig) Error() string { return e.problems.Error() }

// Unwrap returns the problems.
func (e *brokenConfig) Unwrap() error { return e.problems }
