package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var allocator = memory.DefaultAllocator

// stored is a file as read: counted, and unpacked when its name ends in .gz, .zst or .zstd.
type stored struct {
	f        *os.File
	z        io.Closer // unpacks; nil for a file that is not packed
	r        io.Reader
	progress func(int64)
}

func openStored(path string, progress func(int64)) (*stored, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || st.IsDir() {
		f.Close()
		if err == nil {
			err = &Error{Err: errors.New("a directory"), Remedy: "name the files in it"}
		}
		return nil, err
	}
	s := &stored{f: f, progress: progress}
	s.r = counted{s}
	if err := s.unpack(packing(path)); err != nil {
		f.Close()
		if errors.Is(err, io.EOF) {
			return nil, &Error{Err: errors.New("the file is empty"), Remedy: "write the file again"}
		}
		return nil, err
	}
	return s, nil
}

// packing returns the end of a name that says how the file is packed; "" where it is not.
func packing(path string) string {
	switch end := strings.ToLower(filepath.Ext(path)); end {
	case ".gz", ".zst", ".zstd":
		return end
	}
	return ""
}

const maxWindow = 128 << 20 // bytes that a zstd file may look back

func (s *stored) unpack(kind string) error {
	switch kind {
	case ".gz":
		z, err := gzip.NewReader(s.r)
		if err != nil {
			return &Error{Err: fmt.Errorf("not gzip: %w", err), Remedy: "rename it, or pack it again"}
		}
		s.r, s.z = z, z
	case ".zst", ".zstd":
		z, err := zstd.NewReader(s.r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return &Error{Err: fmt.Errorf("not zstd: %w", err), Remedy: "rename it, or pack it again"}
		}
		c := z.IOReadCloser()
		s.r, s.z = c, c
	}
	return nil
}

type counted struct{ s *stored }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.s.f.Read(p)
	if n > 0 && c.s.progress != nil {
		c.s.progress(int64(n))
	}
	return n, err
}

// Read implements io.Reader.
func (s *stored) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && s.z != nil && !errors.Is(err, io.EOF) {
		err = &Error{Err: fmt.Errorf("unpacking: %w", err), Remedy: "the file is damaged or cut short; fetch it again"}
	}
	return n, err
}

func (s *stored) close() error {
	if s.z != nil {
		_ = s.z.Close()
	}
	return s.f.Close()
}

// Extensions lists the ends of the names of files that Open and OpenTables read.
const Extensions = ".csv .csv.gz .csv.zst .tsv .jsonl .jsonl.gz .jsonl.zst .ndjson .arrow .arrows .feather .parquet"

func open(path string, rows int, w *wants, progress func(int64)) (source, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, &Error{Err: errors.New("this is a directory"), Remedy: "name the files in it"}
	}
	name := strings.TrimSuffix(strings.ToLower(path), packing(path))
	kind := filepath.Ext(name)
	switch kind {
	case ".csv", ".tsv", ".txt", ".data", ".jsonl", ".ndjson", ".json", ".arrow", ".arrows", ".feather", ".ipc":
	case ".parquet":
		return openParquet(path, rows, w, progress)
	default:
		return nil, &Error{Err: unknownKind(kind), Remedy: "files that are read end in " + Extensions}
	}
	f, err := openStored(path, progress)
	if err != nil {
		return nil, err
	}
	var src source
	switch kind {
	case ".jsonl", ".ndjson", ".json":
		src, err = openJSON(f, rows, w)
	case ".arrow", ".arrows", ".feather", ".ipc":
		src, err = openArrow(f)
	default:
		src, err = openCSV(f, rows, w)
	}
	if err != nil {
		_ = f.close()
		return nil, err
	}
	return src, nil
}
