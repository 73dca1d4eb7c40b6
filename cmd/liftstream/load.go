package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"liftstream/config"
)

// load reads the configuration of -c and prints its warnings.
func (a *app) load(file string) (*config.Config, error) { return a.loadWith(file, os.LookupEnv) }

// loadOffline is load for commands that contact nobody: environment variables that only the sections kafka and http
// name need not be set.
func (a *app) loadOffline(file string) (*config.Config, error) {
	_, _, err := config.Load(file, os.LookupEnv)
	var problems config.Problems
	if !errors.As(err, &problems) {
		return a.load(file)
	}
	for _, p := range problems {
		if !strings.Contains(p.Message, "needs the environment variable") || !strings.HasPrefix(p.Message, "kafka.") && !strings.HasPrefix(p.Message, "http.") {
			return a.load(file)
		}
	}
	return a.loadWith(file, func(name string) (string, bool) {
		if text, ok := os.LookupEnv(name); ok {
			return text, true
		}
		return "unset", true
	})
}

func (a *app) loadWith(file string, env func(string) (string, bool)) (*config.Config, error) {
	if file == "" {
		return nil, usagef("the configuration is missing: give it with -c FILE; 'liftstream init DATA --label COLUMN' writes one")
	}
	c, warnings, err := config.Load(file, env)
	for _, w := range warnings {
		a.notef("%s", w)
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

func (e *brokenConfig) Error() string { return e.problems.Error() }
func (e *brokenConfig) Unwrap() error { return e.problems }
