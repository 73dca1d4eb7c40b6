package txn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth says where the tokens of the mechanism OAUTHBEARER come from: a file, or an endpoint that gives them for the
// credentials of a client.
type OAuth struct {
	File                string // read at each connection
	URL, Client, Secret string
	Scopes              []string
	CA                  string // file of the authorities that the endpoint's certificate is checked by; "" = the system's
}

const (
	tokenTimeout = 10 * time.Second
	// tokenEarly is how long before its end a token is replaced.
	tokenEarly = 30 * time.Second
)

// SASLOAuth makes the mechanism OAUTHBEARER (RFC 7628). A token is asked for at a connection; that of an endpoint is
// kept until half a minute before its end. Brokers end a connection whose token has run out, and the next one has a new
// token; where it ends connections often (connections.max.reauth.ms), the group forms anew each time. SASLOAuth fails
// where the file holds no token now; an endpoint is not asked yet.
func SASLOAuth(o OAuth) (sasl.Mechanism, error) {
	if o.File != "" {
		token := func() (string, error) {
			text, err := PasswordFile(o.File)()
			if err == nil {
				text = strings.TrimSpace(text)
			}
			return text, err
		}
		if t, err := token(); err != nil {
			return nil, err
		} else if err := checkToken(t); err != nil {
			return nil, fmt.Errorf("%s: %w", o.File, err)
		}
		return &bearer{token}, nil
	}
	client := &http.Client{Timeout: tokenTimeout}
	if o.CA != "" {
		secure, err := (&TLS{CA: o.CA}).config("")
		if err != nil {
			return nil, err
		}
		client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure}
	}
	c := clientcredentials.Config{ClientID: o.Client, ClientSecret: o.Secret, TokenURL: o.URL, Scopes: o.Scopes}
	source := oauth2.ReuseTokenSourceWithExpiry(nil,
		c.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client)), tokenEarly)
	return &bearer{func() (string, error) {
		t, err := source.Token()
		if err != nil {
			return "", fmt.Errorf("asking %s for a token: %w", o.URL, short(err))
		}
		return t.AccessToken, nil
	}}, nil
}

// short is an error of a token endpoint without the body of its answer, which may be a page.
func short(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.Response == nil {
		return err
	}
	text := "the answer is " + answer.Response.Status
	if answer.ErrorCode != "" {
		text += ", " + answer.ErrorCode
	}
	if answer.ErrorDescription != "" {
		text += ": " + answer.ErrorDescription
	}
	return errors.New(text)
}

// bearer is the mechanism OAUTHBEARER.
type bearer struct{ token func() (string, error) }

func (b *bearer) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism: all is said in the first message.
func (b *bearer) Start(context.Context) (sasl.StateMachine, []byte, error) {
	token, err := b.token()
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		return nil, nil, &renewError{err}
	}
	return bearerAnswer{}, []byte("n,,\x01auth=Bearer " + token + "\x01\x01"), nil
}

// checkToken refuses a token that would end its message early.
func checkToken(token string) error {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("this is no bearer token, which is one word of ASCII")
	}
	return nil
}

// bearerAnswer takes the answer of the broker: nothing, or a JSON object that says why the token is refused.
type bearerAnswer struct{}

// Next implements sasl.StateMachine.
func (bearerAnswer) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	if len(challenge) == 0 {
		return true, nil, nil
	}
	var fault struct{ Status, Scope string }
	if json.Unmarshal(challenge, &fault) != nil || fault.Status == "" {
		return false, nil, refusedToken("the broker refuses the token (OAUTHBEARER)")
	}
	text := "the broker refuses the token (OAUTHBEARER): " + fault.Status
	if fault.Scope != "" {
		text += ", it wants the scope " + fault.Scope
	}
	return false, nil, refusedToken(text)
}

// refusedToken is the error of a token that the broker does not take.
type refusedToken string

func (e refusedToken) Error() string { return string(e) }
