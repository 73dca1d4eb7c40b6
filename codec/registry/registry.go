// Package registry asks a schema registry, one that speaks the REST interface of Confluent's, for the schemas of
// messages, and registers those of scores. A registry that is away is waited for: no message is refused because of it.
//
// Begin at New.
package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"liftstream/codec"
)

// Options say where a registry is and who asks it.
type Options struct {
	URL      string
	Username string // with Password, or "" for none
	Password string
	Token    string // a bearer token in place of a name; "" = none
	CA       string // file of the authorities to trust, in PEM; "" = the system's
	// Pause is how long a call waits before it asks again after a failure, doubled up to a minute; 0 = 250 ms.
	Pause time.Duration
}

// Registry is a client with a cache. It may be used by several goroutines at once.
type Registry struct {
	url   string
	pause time.Duration
	c     *sr.Client

	mu     sync.Mutex
	known  map[uint32]string // Avro schemas by id: a registry never changes them
	bytes  int               // of these
	away   error             // of the last call, nil = it was answered
	asking int               // schemas that are asked for now
	failed int               // calls that found it away
}

const (
	maxAnswer = 4 << 20  // bytes of an answer
	maxKnown  = 32 << 20 // bytes of the cache
	perCall   = 10 * time.Second
	longest   = time.Minute // between two calls
)

// New returns a client. It does not call the registry.
func New(o Options) (*Registry, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the registry must begin with http:// or https:// and have a host")
	}
	r := &Registry{url: u.Redacted(), pause: o.Pause, known: map[uint32]string{}}
	if r.pause <= 0 {
		r.pause = 250 * time.Millisecond
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities to trust: %w", err)
		}
		if secure.RootCAs = x509.NewCertPool(); !secure.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the authorities to trust: no certificate in %s", o.CA)
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, MaxIdleConnsPerHost: 4,
		DialContext: (&net.Dialer{Timeout: perCall}).DialContext, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	opts := []sr.ClientOpt{sr.URLs(o.URL), sr.UserAgent("liftstream"),
		sr.HTTPClient(&http.Client{Timeout: perCall, Transport: bounded{transport}})}
	if o.Username != "" {
		opts = append(opts, sr.BasicAuth(o.Username, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, sr.BearerToken(o.Token))
	}
	if r.c, err = sr.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("making the client of the registry: %w", err)
	}
	return r, nil
}

// bounded ends an answer that is too long.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// Avro implements codec.Schemas.
func (r *Registry) Avro(id uint32, done <-chan struct{}) (string, error) {
	r.mu.Lock()
	text, ok := r.known[id]
	r.mu.Unlock()
	switch {
	case ok:
		return text, nil
	case id > math.MaxInt32: // registries answer 404 as a proxy does: they do not take it for a number
		return "", errors.New("no registry has such an id")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if done != nil {
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-done:
				cancel()
			case <-stop:
			}
		}()
	}
	var s sr.Schema
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		s, err = r.c.SchemaByID(ctx, int(id))
		return err
	}, isUnknown)
	switch {
	case ctx.Err() != nil:
		return "", codec.ErrStopped
	case err != nil:
		return "", err
	case s.Type != sr.TypeAvro:
		return "", fmt.Errorf("it is of type %s in the registry; AVRO is read", s.Type)
	case len(s.References) > 0:
		return "", errors.New("it refers to other schemas of the registry; register it whole")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+len(s.Schema) > maxKnown {
		clear(r.known)
		r.bytes = 0
	}
	r.known[id] = s.Schema
	r.bytes += len(s.Schema)
	return s.Schema, nil
}

// Register registers a schema under a subject, one of Avro or else of JSON Schema, and returns its id; the registry
// gives an equal schema the id that it has. It waits while the registry does not answer, until ctx ends: then it
// returns the error of ctx. Any other error says that the registry refuses the schema for good.
func (r *Registry) Register(ctx context.Context, subject, schema string, avro bool) (uint32, error) {
	s := sr.Schema{Schema: schema, Type: sr.TypeJSON}
	if avro {
		s.Type = sr.TypeAvro
	}
	var id int
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		id, err = r.c.RegisterSchema(ctx, subject, s, -1, -1)
		if err == nil && (id < 0 || id > math.MaxInt32) {
			return fmt.Errorf("it answered with the id %d, which is none", id)
		}
		return err
	}, isRefused)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil && statusOf(err) == http.StatusConflict:
		return 0, fmt.Errorf("registering the schema of the scores: the registry says that it is not compatible with the "+
			"newest one of subject %s (output.subject names another one): %w", subject, err)
	case err != nil:
		return 0, fmt.Errorf("registering the schema of the scores under subject %s at %s: %w", subject, r.url, err)
	}
	return uint32(id), nil
}

// statusOf is the status of an answer that is an error, 0 where there was none.
func statusOf(err error) int {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.StatusCode
}

// isRefused reports whether a registry answered that it does not take a schema.
func isRefused(err error) bool {
	status := statusOf(err)
	return status == http.StatusConflict || status == http.StatusUnprocessableEntity
}

// ask calls the registry until it gives an answer, one that says no included, or ctx ends. no tells the errors that say
// no from those of a registry that is away.
func (r *Registry) ask(ctx context.Context, call func(ctx context.Context) error, no func(err error) bool) error {
	pause := r.pause
	r.count(1)
	defer r.count(-1)
	for {
		err := call(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.note(err, no)
		if err == nil || no(err) {
			return err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
		if pause = 2 * pause; pause > longest {
			pause = longest
		}
	}
}

func (r *Registry) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking += n
}

// isUnknown reports whether a registry answered that it has no such schema. Any other error says nothing of the schema:
// the network, an account that the registry does not take, or a sick registry.
func isUnknown(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound && answer.ErrorCode == codeNoSchema
}

// codeNoSchema is the code by which a registry says that it has no schema of an id. A proxy that does not find the
// registry answers 404 too.
const codeNoSchema = 40403

// note takes note of the outcome of a call.
func (r *Registry) note(err error, no func(err error) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || no(err) {
		r.away = nil
		return
	}
	r.failed++
	r.away = err
}

// State returns the fault of the registry while calls wait for it, "" where none does, and the number of calls that had
// no answer.
func (r *Registry) State() (problem string, failures int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away != nil && r.asking > 0 {
		problem = fmt.Sprintf("waiting for the schema registry at %s: %v", r.url, r.away)
	}
	return problem, r.failed
}
