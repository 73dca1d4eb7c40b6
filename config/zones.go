package config

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// zoneData is the time zone database of IANA, release 2025c, which is in the public domain, as the distribution of Go
// has it in lib/time. The zones of the machine are not asked: two members of a group whose machines differ in them
// would compute different features of one record.
//
//go:embed zoneinfo.zip
var zoneData []byte

// zoneFiles opens the database once.
var zoneFiles = sync.OnceValues(func() (*zip.Reader, error) {
	return zip.NewReader(bytes.NewReader(zoneData), int64(len(zoneData)))
})

// maxZone bounds the bytes of a zone.
const maxZone = 1 << 20

// zone returns the time zone of that name, such as UTC or Europe/Berlin. The error has the name that was probably
// meant.
func zone(name string) (*time.Location, error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	files, err := zoneFiles()
	if err != nil {
		return nil, fmt.Errorf("reading the time zones: %w", err)
	}
	at := slices.IndexFunc(files.File, func(f *zip.File) bool { return f.Name == name })
	if at < 0 || strings.HasSuffix(name, "/") {
		var names []string
		for _, f := range files.File {
			names = append(names, f.Name)
		}
		return nil, &hinted{fmt.Sprintf("%s is no time zone such as UTC or Europe/Berlin", quote(name)), Nearest(name, names)}
	}
	f, err := files.File[at].Open()
	if err != nil {
		return nil, fmt.Errorf("reading the time zone %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxZone))
	if err != nil {
		return nil, fmt.Errorf("reading the time zone %s: %w", name, err)
	}
	return time.LoadLocationFromTZData(name, data)
}
