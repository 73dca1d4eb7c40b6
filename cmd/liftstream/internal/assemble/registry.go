package assemble

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"liftstream/codec"
	"liftstream/codec/registry"
	"liftstream/config"
)

// inputs are the encodings of events and labels; Arrow is the zero value.
var inputs = map[config.InputFormat]codec.Input{config.InputJSONL: codec.InputJSONL, config.InputJSON: codec.InputJSON,
	config.InputAvro: codec.InputAvro}

// outputs are the encodings of scores; Arrow is the zero value.
var outputs = map[config.Format]codec.Format{config.FormatJSONL: codec.FormatJSONL, config.FormatJSON: codec.FormatJSON,
	config.FormatAvro: codec.FormatAvro}

// newRegistry returns the registry of a configuration, nil where it has none.
func newRegistry(c *config.Registry) (*registry.Registry, error) {
	if c == nil {
		return nil, nil
	}
	r, err := registry.New(registry.Options{URL: c.URL, Username: c.Username, Password: c.Password.Reveal(),
		Token: c.Token.Reveal(), CA: c.CA})
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return r, nil
}

// frame gives the scores the frame of the registry, where the configuration asks for it. It fails where they can have
// no schema.
func (s *Stage) frame() error {
	if !s.Config.Framed() {
		return nil
	}
	s.Codec.Frame = &codec.Frame{}
	if _, err := codec.ScoreSchema(s.Codec); err != nil {
		return fmt.Errorf("output.format %s: %w", s.Config.Output.Format, err)
	}
	return nil
}

// Announce registers the schema of the scores, whose id stands in their frames from then on. It waits for a registry
// that is away, until ctx ends. It does nothing where scores have no frame.
func (s *Stage) Announce(ctx context.Context) error {
	if s.Codec.Frame == nil {
		return nil
	}
	schema, err := codec.ScoreSchema(s.Codec)
	if err != nil {
		return err
	}
	id, err := s.Registry.Register(ctx, s.Subject(), schema, s.Codec.Format == codec.FormatAvro)
	if err == nil {
		s.Codec.Frame.Set(id)
	}
	return err
}

// Subject is the subject under which the schema of the scores is registered.
func (s *Stage) Subject() string {
	return cmp.Or(s.Config.Output.Subject, s.Config.Topics.Scores+"-value")
}

// Plain returns the reader of framed messages for a command, whose lines are at most most bytes. note is told of a
// registry that is waited for. It fails where the registry of the configuration cannot be asked.
func Plain(c *config.Config, most int64, note func(format string, args ...any)) (*codec.Plain, error) {
	r, err := newRegistry(c.Registry)
	p := &codec.Plain{Most: most}
	if err == nil && r != nil {
		p.Schemas = telling{r, note}
	}
	return p, err
}

// telling tells of a registry that lets a call wait.
type telling struct {
	*registry.Registry
	note func(format string, args ...any)
}

// Avro implements codec.Schemas. The caller's goroutine tells.
func (t telling) Avro(id uint32, done <-chan struct{}) (text string, err error) {
	answered := make(chan struct{})
	go func() {
		text, err = t.Registry.Avro(id, done)
		close(answered)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for told := false; ; {
		select {
		case <-answered:
			return text, err
		case <-tick.C:
			if problem, _ := t.State(); problem != "" && !told {
				told = true
				t.note("%s", problem)
			}
		}
	}
}
