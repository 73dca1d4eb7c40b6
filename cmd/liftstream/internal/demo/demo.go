// Package demo holds the data that the demonstration ships, with their configurations, and reads their scores back
// from the topics.
//
// Begin at Find; Read counts the scores against the events.
package demo

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed bank.yaml votes.yaml data
var files embed.FS

// Sources is the file that says where the data come from and under which licence.
const Sources = "data/SOURCES.md"

// Set is a shipped data set.
type Set struct {
	Name    string
	Title   string
	Who     string   // a noun for a record: "customer"
	Notes   []string // on the data, for readers
	Records int
	// Skip is the number of first records that figures leave out: the stage knows nothing yet.
	Skip int
	// Batch is the number of records in a message.
	Batch int
	data  string
}

var sets = []*Set{
	{
		Name: "bank", Title: "A bank offers a term deposit by telephone: who will say yes?", Who: "customer",
		Notes: []string{
			"45,211 calls of a Portuguese bank, 2008 to 2010, in time order (Moro, Cortez and Rita, UCI, CC BY 4.0); 11.7 % " +
				"of the customers said yes.",
			"The length of the call (duration) would predict the answer best, but is known only when the answer is: it is " +
				"not looked at.",
		},
		Records: 45211, Skip: 1000, Batch: 250, data: "data/bank_full.csv.gz",
	},
	{
		Name: "votes", Title: "Members of Congress, 1984: which party, told by their votes?", Who: "member",
		Notes: []string{
			"435 members of the US House of Representatives and their votes on 16 questions (UCI, CC BY 4.0); missing votes " +
				"are left missing.",
		},
		Records: 435, Skip: 100, Batch: 25, data: "data/house_votes84.csv",
	},
}

// Names lists the sets.
func Names() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}

// Find returns the set of that name, nil when there is none.
func Find(name string) *Set {
	for _, s := range sets {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Config is the configuration of the set with an embedded broker in a directory and an address for HTTP.
func (s *Set) Config(broker, listen string) ([]byte, error) {
	b, err := files.ReadFile(s.Name + ".yaml")
	if err != nil {
		return nil, err
	}
	// ${ would be taken for the name of an environment variable.
	text := func(t string) string { return strconv.Quote(strings.ReplaceAll(t, "${", "$${")) }
	return fmt.Appendf(b, "kafka: {embedded: {dir: %s}}\nhttp: {listen: %s}\n", text(broker), text(listen)), nil
}

// Credit is the text of Sources.
func Credit() ([]byte, error) { return files.ReadFile(Sources) }

// WriteRecords writes the records as CSV, each with its number, counted from 1, in a first column called Who.
func (s *Set) WriteRecords(w io.Writer) error {
	b, err := files.ReadFile(s.data)
	if err != nil {
		return err
	}
	if strings.HasSuffix(s.data, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", s.data, err)
		}
		if b, err = io.ReadAll(r); err != nil {
			return fmt.Errorf("unpacking %s: %w", s.data, err)
		}
	}
	n := 0
	for line := range bytes.Lines(b) {
		first := s.Who
		if n > 0 {
			first = strconv.Itoa(n)
		}
		if _, err := fmt.Fprintf(w, "%s,%s", first, line); err != nil {
			return err
		}
		n++
	}
	return nil
}
