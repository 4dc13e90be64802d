package httpguard

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// ErrTwoTokens is wrapped by the error for a request that has one token in its
// context and another in its header.
var ErrTwoTokens = errors.New("httpguard: two tokens")

// Transport is an http.RoundTripper that sends the token of each request's
// context (fencing.NewContext) in its header. A request whose context has none is sent
// unchanged. A header that is already set must have the same token, or the request is not
// sent: ErrTwoTokens. Redirects are followed with the token, because it belongs to the
// context; it is no secret, but do not follow redirects to servers that must not see it.
//
// Do not name Fencing-Token in the request's Connection header: proxies remove the headers
// named there.
//
// Derive the request's context from the lease's, so that the request ends with
// the lease. The zero Transport is ready to use.
type Transport struct {
	// Base sends the requests; nil means http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip implements http.RoundTripper. It leaves req unchanged.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := http.DefaultTransport
	if t != nil && t.Base != nil {
		base = t.Base
	}
	tok, ok := fencing.FromContext(req.Context())
	if !ok {
		return base.RoundTrip(req)
	}
	sent, err := withToken(req, tok)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes the body in any case
		}
		return nil, err
	}
	return base.RoundTrip(sent)
}

func withToken(req *http.Request, tok fencing.Token) (*http.Request, error) {
	if values := req.Header.Values(HeaderName); len(values) > 0 {
		if len(values) > 1 || values[0] != tok.String() {
			return nil, fmt.Errorf("%w: the context carries %d, the %s header %q; set one of them", ErrTwoTokens, uint64(tok), HeaderName, values)
		}
		return req, nil
	}
	sent := req.Clone(req.Context())
	if err := SetHeader(sent, tok); err != nil {
		return nil, err
	}
	return sent, nil
}
