package httpguard

import (
	"fmt"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// HeaderName is the request header that carries the token, in decimal.
const HeaderName = "Fencing-Token"

// Header reads the token from the header of a request. Without the header the
// error wraps fencing.ErrNoToken. If the header is empty, malformed or repeated, it wraps
// fencing.ErrBadToken: of two tokens it is unknown which one the holder meant.
func Header(h http.Header) (fencing.Token, error) {
	switch values := h.Values(HeaderName); len(values) {
	case 0:
		return 0, fmt.Errorf("%w: the request has no %s header; send the lease's token in it", fencing.ErrNoToken, HeaderName)
	case 1:
		t, err := fencing.ParseToken(values[0])
		if err != nil {
			return 0, fmt.Errorf("header %s: %w", HeaderName, err)
		}
		return t, nil
	default:
		return 0, fmt.Errorf("%w: the request has %d %s headers, want one", fencing.ErrBadToken, len(values), HeaderName)
	}
}

// SetHeader sets the header of a request to t. It refuses the zero Token with
// fencing.ErrNoToken, and a token above fencing.MaxToken with fencing.ErrBadToken.
func SetHeader(req *http.Request, t fencing.Token) error {
	switch {
	case t == 0:
		return fmt.Errorf("%w for the %s header; acquire the lock with fencing on", fencing.ErrNoToken, HeaderName)
	case !t.Valid():
		return fmt.Errorf("%w: %d for the %s header, want at most %d", fencing.ErrBadToken, uint64(t), HeaderName, uint64(fencing.MaxToken))
	}
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set(HeaderName, t.String())
	return nil
}
