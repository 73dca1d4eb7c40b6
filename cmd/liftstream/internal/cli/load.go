package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"liftstream/config"
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
	for _, w := range warnings {
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

// brokenConfig is returned when a configuration has problems: they are printed one a line, so that editors find them.
type brokenConfig struct{ problems config.Problems }

// Error lists the problems.
func (e *brokenConfig) Error() string { return e.problems.Error() }

// Unwrap returns the problems.
func (e *brokenConfig) Unwrap() error { return e.problems }
