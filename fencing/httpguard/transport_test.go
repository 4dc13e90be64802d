package httpguard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// capture answers every request and keeps the headers that were sent.
func capture(sent *[][]string) *httpguard.Transport {
	return &httpguard.Transport{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		*sent = append(*sent, r.Header.Values(httpguard.HeaderName))
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})}
}

func TestTransport(t *testing.T) {
	for _, c := range []struct {
		name    string
		context fencing.Token // 0: none
		header  []string
		sent    []string
		err     error
	}{
		{name: "none"},
		{name: "from the context", context: 33, sent: []string{"33"}},
		{name: "from the header", header: []string{"33"}, sent: []string{"33"}},
		{name: "both the same", context: 33, header: []string{"33"}, sent: []string{"33"}},
		{name: "two", context: 33, header: []string{"34"}, err: httpguard.ErrTwoTokens},
		{name: "two in the header", context: 33, header: []string{"33", "33"}, err: httpguard.ErrTwoTokens},
		{name: "too big", context: fencing.MaxToken + 1, err: fencing.ErrBadToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			if c.context != 0 {
				ctx = fencing.NewContext(ctx, c.context)
			}
			body := &closing{Reader: strings.NewReader("x")}
			req, err := http.NewRequestWithContext(ctx, "PUT", "http://resource.invalid/", body)
			require.NoError(t, err)
			for _, v := range c.header {
				req.Header.Add(httpguard.HeaderName, v)
			}
			var sent [][]string
			resp, err := capture(&sent).RoundTrip(req)
			assert.Equal(t, len(c.header), len(req.Header.Values(httpguard.HeaderName)), "the request is not changed")
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
				assert.Empty(t, sent)
				assert.True(t, body.closed)
				return
			}
			require.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
			assert.Equal(t, [][]string{c.sent}, sent)
		})
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// TestZeroTransport: the nil Transport is as good as the zero one.
func TestZeroTransport(t *testing.T) {
	for _, transport := range []*httpguard.Transport{nil, {}} {
		s := newSite(t, new(fencing.Memory))
		server := httptest.NewServer(s.http)
		req, err := http.NewRequestWithContext(fencing.NewContext(t.Context(), 7), "PUT", server.URL+"/r", nil)
		require.NoError(t, err)
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		assert.NoError(t, resp.Body.Close())
		assert.Equal(t, fencing.Token(7), s.token)
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
	}
}
