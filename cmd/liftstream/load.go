package main

import (
	"errors"
	"fmt"
	"os"

	"liftstream/config"
)

// load reads the configuration of -c and prints its warnings.
func (a *app) load(file string) (*config.Config, error) {
	if file == "" {
		return nil, usagef("the configuration is missing: give it with -c FILE; 'liftstream init DATA --label COLUMN' writes one")
	}
	c, warnings, err := config.Load(file, os.LookupEnv)
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
