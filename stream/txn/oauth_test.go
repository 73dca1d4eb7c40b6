package txn

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// endpoint gives tokens of the names t1, t2 ... that live so many seconds, to the client c with the secret s.
func endpoint(t *testing.T, seconds int, calls *atomic.Int64) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		client, secret, _ := r.BasicAuth()
		if client != "c" || secret != "s" || r.FormValue("grant_type") != "client_credentials" ||
			r.FormValue("scope") != "kafka read" {
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_client", "error_description": "who?"})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "t" + string(rune('0'+n)), "token_type": "Bearer",
			"expires_in": seconds})
	}))
	t.Cleanup(s.Close)
	return s
}

func first(t *testing.T, o OAuth, times int) (said []string, err error) {
	t.Helper()
	m, err := SASLOAuth(o)
	if err != nil {
		return nil, err
	}
	for range times {
		_, ir, err := m.Start(context.Background())
		if err != nil {
			return said, err
		}
		said = append(said, string(ir))
	}
	return said, nil
}

func kindOf(err error) Kind {
	kind, _ := classify("connecting", err)
	return kind
}

// TestTokensOfAnEndpoint: a token is kept while it lives, and replaced before its end.
func TestTokensOfAnEndpoint(t *testing.T) {
	for _, c := range []struct {
		seconds int
		want    string
	}{{3600, "t1 t1 t1"}, {20, "t1 t2 t3"}} {
		var calls atomic.Int64
		s := endpoint(t, c.seconds, &calls)
		said, err := first(t, OAuth{URL: s.URL, Client: "c", Secret: "s", Scopes: []string{"kafka", "read"}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range strings.Fields(c.want) {
			if said[i] != "n,,\x01auth=Bearer "+w+"\x01\x01" {
				t.Errorf("tokens of %d s: %q at connection %d, want %s", c.seconds, said[i], i, w)
			}
		}
	}
	var calls atomic.Int64
	s := endpoint(t, 3600, &calls)
	_, err := first(t, OAuth{URL: s.URL, Client: "c", Secret: "wrong"}, 1)
	if err == nil || !strings.Contains(err.Error(), "invalid_client: who?") || strings.Contains(err.Error(), "wrong") ||
		kindOf(err) != Environment {
		t.Errorf("%v of kind %v", err, kindOf(err))
	}
	if _, err = first(t, OAuth{URL: "http://127.0.0.1:1/token", Client: "c"}, 1); kindOf(err) != Environment {
		t.Errorf("an endpoint that is away: %v of kind %v", err, kindOf(err))
	}
}

// written writes a file and returns its name.
func written(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTokensOfAFile: the file is read at each connection, and must hold a token at the start.
func TestTokensOfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	if _, err := first(t, OAuth{File: name}, 1); err == nil {
		t.Error("a missing file is taken")
	}
	for text, ok := range map[string]bool{"": false, "a b": false, "a\x01b": false, " abc \n": true} {
		written(t, name, text)
		if said, err := first(t, OAuth{File: name},
			1); (err == nil) != ok || ok && said[0] != "n,,\x01auth=Bearer abc\x01\x01" {
			t.Errorf("%q: %q, %v", text, said, err)
		}
	}
	m, err := SASLOAuth(OAuth{File: written(t, name, "one")})
	if err != nil {
		t.Fatal(err)
	}
	written(t, name, "two")
	if _, ir, err := m.Start(context.Background()); err != nil || !strings.Contains(string(ir), "Bearer two") {
		t.Errorf("after a change: %q, %v", ir, err)
	}
}

// TestAnswersToTokens: the broker says nothing, or why it refuses.
func TestAnswersToTokens(t *testing.T) {
	for challenge, want := range map[string]string{"": "",
		`{"status":"invalid_token","scope":"kafka"}`: "invalid_token, it " +
			"wants the scope kafka", "x": "refuses the token"} {
		done, _, err := bearerAnswer{}.Next(context.Background(), []byte(challenge))
		if err != nil && kindOf(fmt.Errorf("connecting: %w", err)) != Credentials {
			t.Errorf("%q is of kind %v", challenge, kindOf(err))
		}
		if done != (want == "") || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", challenge, done, err)
		}
	}
}
