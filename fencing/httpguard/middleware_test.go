package httpguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a guarded handler that records the requests that reached it.
type site struct {
	guard    fencing.Guard
	http     http.Handler
	reached  int
	token    fencing.Token // of the last request that reached the handler
	reported []error       // the errors that OnUnavailable got
}

func newSite(t *testing.T, g fencing.Guard) *site {
	t.Helper()
	return configured(t, httpguard.Config{Guard: g})
}

func configured(t *testing.T, c httpguard.Config) *site {
	t.Helper()
	s := &site{guard: c.Guard}
	c.Resource = func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }
	c.OnUnavailable = func(_ *http.Request, err error) { s.reported = append(s.reported, err) }
	if c.Accept == nil {
		c.Accept = httpguard.AcceptAny
	}
	var err error
	s.http, err = httpguard.New(c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reached++
		s.token, _ = fencing.FromContext(r.Context())
	}))
	require.NoError(t, err)
	return s
}

// unbounded is a guard for the largest tokens.
func unbounded(t *testing.T) *fencing.Memory {
	t.Helper()
	m, err := fencing.NewMemory(fencing.MemoryConfig{Bound: fencing.Bound{Ahead: fencing.Unbounded}})
	require.NoError(t, err)
	return m
}

// do sends a request with the given Fencing-Token headers.
func (s *site) do(method, path string, tokens ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for _, tok := range tokens {
		r.Header.Add("fencing-token", tok)
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) httpguard.Problem {
	t.Helper()
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var p httpguard.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	assert.Equal(t, w.Code, p.Status)
	assert.Equal(t, http.StatusText(w.Code), p.Title)
	assert.Equal(t, "about:blank", p.Type)
	assert.NotEmpty(t, p.Detail)
	return p
}

func TestWritesNeedAToken(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "LOCK", "get"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t, new(fencing.Memory))
			w := s.do(method, "/r")
			assert.Equal(t, http.StatusPreconditionRequired, w.Code)
			assert.Contains(t, problem(t, w).Detail, "Fencing-Token")
			assert.Zero(t, s.reached)

			assert.Equal(t, http.StatusOK, s.do(method, "/r", "34").Code)
			assert.Equal(t, fencing.Token(34), s.token)
			assert.Equal(t, http.StatusOK, s.do(method, "/r", "34").Code, "the same holder again")
			assert.Equal(t, http.StatusConflict, s.do(method, "/r", "33").Code)
			assert.Equal(t, 2, s.reached)
			assert.Equal(t, http.StatusOK, s.do(method, "/other", "33").Code)
		})
	}
}

func TestStaleBody(t *testing.T) {
	s := newSite(t, unbounded(t))
	top := fencing.MaxToken.String()
	s.do("PUT", "/r", top)
	w := s.do("PUT", "/r", "9007199254740990")
	assert.Equal(t, http.StatusConflict, w.Code)
	p := problem(t, w)
	assert.Equal(t, fencing.MaxToken-1, p.Token)
	assert.Equal(t, fencing.MaxToken, p.Highest)
	assert.Contains(t, w.Body.String(), `"highest":`+top, "a plain JSON number")
}

func TestReads(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t, new(fencing.Memory))
			assert.Equal(t, http.StatusOK, s.do(method, "/r").Code, "a reader that is no holder")
			assert.Zero(t, s.token)
			assert.Equal(t, http.StatusOK, s.do(method, "/r", "34").Code)
			assert.Equal(t, fencing.Token(34), s.token)
			assert.Equal(t, http.StatusConflict, s.do("PUT", "/r", "33").Code, "the read with 34 was an arrival")
			assert.Equal(t, http.StatusConflict, s.do(method, "/r", "33").Code, "a stale holder must not go on from what it reads")
			assert.Equal(t, http.StatusBadRequest, s.do(method, "/r", "x").Code)
			assert.Equal(t, http.StatusOK, s.do(method, "/").Code, "without a token the name is not asked for")
		})
	}
}

type recorder struct {
	calls []string
	err   error
}

func (g *recorder) Admit(_ context.Context, r string, t fencing.Token) error {
	return g.call("Admit", r, t)
}

func (g *recorder) Check(_ context.Context, r string, t fencing.Token) error {
	return g.call("Check", r, t)
}

func (g *recorder) Forget(context.Context, string) (bool, error) { return false, g.err }

func (g *recorder) call(verb, r string, t fencing.Token) error {
	if err := fencing.Validate(r, t); err != nil {
		return err
	}
	g.calls = append(g.calls, verb+" "+r+" "+t.String())
	return g.err
}

func TestMalformed(t *testing.T) {
	s := newSite(t, new(fencing.Memory))
	for _, tokens := range [][]string{
		{""}, {"0"}, {"-1"}, {"1,2"}, {"1, 1"}, {" 1"}, {"01"}, {"9007199254740992"}, {"1", "2"}, {"1", "1"}, {"1", ""},
	} {
		for _, method := range []string{"PUT", "GET"} {
			w := s.do(method, "/r", tokens...)
			assert.Equal(t, http.StatusBadRequest, w.Code, "%s %q", method, tokens)
			problem(t, w)
		}
	}
	assert.Zero(t, s.reached)
	assert.Equal(t, http.StatusOK, s.do("PUT", "/r", "1").Code, "no mark was left")
}

func TestBadResource(t *testing.T) {
	s := newSite(t, new(fencing.Memory))
	for _, path := range []string{"/", "/" + strings.Repeat("x", fencing.MaxResourceLen+1), "/%00"} {
		w := s.do("PUT", path, "1")
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assert.Contains(t, problem(t, w).Detail, "resource")
	}
	assert.Zero(t, s.reached)
}

// TestGuardUnavailable: the handler does not run. The operator sees the cause; the client does not.
func TestGuardUnavailable(t *testing.T) {
	down := errors.New("dial tcp 10.0.0.7:6379: refused")
	s := newSite(t, &recorder{err: down})
	for _, method := range []string{"PUT", "GET"} {
		w := s.do(method, "/r", "1")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		problem(t, w)
		assert.NotContains(t, w.Body.String(), "10.0.0.7")
	}
	assert.Zero(t, s.reached)
	assert.Equal(t, []error{down, down}, s.reported)
}

func TestBareErrStale(t *testing.T) {
	s := newSite(t, &recorder{err: fencing.ErrStale})
	w := s.do("PUT", "/r", "1")
	assert.Equal(t, http.StatusConflict, w.Code)
	assert.Zero(t, problem(t, w).Highest)
}

// TestVary: a cache may not answer a request with one token from a response to another token, or to
// none.
func TestVary(t *testing.T) {
	s := newSite(t, new(fencing.Memory))
	for _, w := range []*httptest.ResponseRecorder{s.do("GET", "/r"), s.do("GET", "/r", "2"), s.do("PUT", "/r", "1")} {
		assert.Equal(t, []string{"Fencing-Token"}, w.Header().Values("Vary"))
	}
}

func TestConfig(t *testing.T) {
	name := func(*http.Request) string { return "r" }
	all, next := httpguard.AcceptAny, http.NotFoundHandler()
	var g fencing.Memory
	var none *fencing.Memory
	for says, c := range map[string]httpguard.Config{
		"Config.Guard is nil":         {Resource: name, Accept: all},
		"Config.Guard is nil;":        {Guard: none, Resource: name, Accept: all},
		"Config.Guard cannot be used": {Guard: notMade{}, Resource: name, Accept: all},
		"it lets no token pass":       {Guard: passing{}, Resource: name, Accept: all},
		"Config.Resource":             {Guard: &g, Accept: all},
		"Config.Accept":               {Guard: &g, Resource: name},
	} {
		_, err := httpguard.New(c, next)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "httpguard: ")
	}
	for _, next := range []http.Handler{nil, http.HandlerFunc(nil), (*http.ServeMux)(nil)} {
		_, err := httpguard.New(httpguard.Config{Guard: &g, Resource: name, Accept: all}, next)
		assert.ErrorContains(t, err, "handler behind the guard is nil")
	}
}

// notMade is a guard that was not made by its package's New, and passing is a guard that lets
// everything pass.
type notMade struct{ fencing.Guard }

func (notMade) Check(context.Context, string, fencing.Token) error {
	return errors.New("make it with New")
}

type passing struct{ fencing.Guard }

func (passing) Check(context.Context, string, fencing.Token) error { return nil }

// TestOnlyWhatIsAcceptedLeavesAMark: neither a scan of missing paths nor a stranger fills the
// guard, and the holders of existing resources are served.
func TestOnlyWhatIsAcceptedLeavesAMark(t *testing.T) {
	m, err := fencing.NewMemory(fencing.MemoryConfig{Limit: 1})
	require.NoError(t, err)
	s := configured(t, httpguard.Config{Guard: m, Accept: func(r *http.Request, resource string, tok fencing.Token) error {
		switch {
		case resource != "real":
			return fmt.Errorf("no table has it: %w", httpguard.ErrUnknown)
		case r.Header.Get("Authorization") != "holder":
			return fmt.Errorf("%s with %d: %w", resource, tok, httpguard.ErrForbidden)
		}
		return nil
	}})
	request := func(method, path, token, who string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Fencing-Token", token)
		r.Header.Set("Authorization", who)
		w := httptest.NewRecorder()
		s.http.ServeHTTP(w, r)
		return w
	}
	for i := range 1000 {
		for _, method := range []string{"GET", "PUT"} {
			w := request(method, fmt.Sprintf("/junk%d", i), "1", "holder")
			require.Equal(t, http.StatusNotFound, w.Code)
		}
	}
	w := request("GET", "/real", "99", "stranger")
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.NotContains(t, problem(t, w).Detail, "real", "the error's text stays here")
	assert.Zero(t, m.Len())
	assert.Zero(t, s.reached)
	assert.Empty(t, s.reported)

	assert.Equal(t, http.StatusOK, request("GET", "/real", "7", "holder").Code)
	assert.Equal(t, http.StatusConflict, request("PUT", "/real", "6", "holder").Code)
	assert.Equal(t, http.StatusForbidden, request("PUT", "/real", "6", "stranger").Code, "a stranger does not see the mark")
	assert.Equal(t, http.StatusOK, s.do("GET", "/junk").Code, "without a token there is nothing to accept")
}

// TestAcceptCannotAnswer: no token was shown, and the client does not see why.
func TestAcceptCannotAnswer(t *testing.T) {
	for _, cause := range []error{errors.New("10.0.0.7 is down"), fencing.ErrStale, fencing.ErrNoToken, &fencing.StaleError{Resource: "r", Token: 1, Highest: 2}} {
		var m fencing.Memory
		s := configured(t, httpguard.Config{Guard: &m, Accept: func(*http.Request, string, fencing.Token) error { return cause }})
		w := s.do("PUT", "/r", "1")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, "%v", cause)
		assert.NotContains(t, w.Body.String(), "10.0.0.7")
		require.Len(t, s.reported, 1)
		assert.ErrorIs(t, s.reported[0], cause)
		assert.Zero(t, m.Len()+s.reached)
	}
}

// TestAcceptIsAskedBeforeTheGuard, and not about requests without a usable token.
func TestAcceptIsAskedBeforeTheGuard(t *testing.T) {
	rec := &recorder{}
	s := configured(t, httpguard.Config{Guard: rec, Accept: func(_ *http.Request, resource string, tok fencing.Token) error {
		rec.calls = append(rec.calls, "Accept "+resource+" "+tok.String())
		return nil
	}})
	s.do("PUT", "/r", "5")
	s.do("GET", "/r", "6")
	s.do("PUT", "/", "5")       // no name
	s.do("PUT", "/r", "x")      // no token
	s.do("PUT", "/r")           // none at all
	s.do("PUT", "/r", "5", "6") // two
	assert.Equal(t, []string{"Accept r 5", "Check r 5", "Accept r 6", "Admit r 6"}, rec.calls)
}

// TestTokenFromAhead: one request cannot lock every holder out, and the operator learns of it.
func TestTokenFromAhead(t *testing.T) {
	s := newSite(t, new(fencing.Memory))
	require.Equal(t, http.StatusOK, s.do("PUT", "/r", "33").Code)
	for _, method := range []string{"GET", "PUT"} {
		w := s.do(method, "/r", fencing.MaxToken.String())
		assert.Equal(t, http.StatusBadRequest, w.Code)
		p := problem(t, w)
		assert.Equal(t, fencing.MaxToken, p.Token)
		assert.Greater(t, p.Limit, fencing.Token(time.Now().UnixMicro()))
		assert.Zero(t, p.Highest)
	}
	assert.Equal(t, http.StatusOK, s.do("PUT", "/r", "34").Code)
	require.Len(t, s.reported, 2)
	assert.ErrorIs(t, s.reported[0], fencing.ErrAhead)
}

// TestHeaderDroppedByAProxy: a proxy removes the headers that the Connection header names. A read
// then passes without a token, unless readers must send one.
func TestHeaderDroppedByAProxy(t *testing.T) {
	var m fencing.Memory
	for _, c := range []struct {
		require bool
		code    int
	}{{false, http.StatusOK}, {true, http.StatusPreconditionRequired}} {
		s := configured(t, httpguard.Config{Guard: &m, RequireToken: c.require})
		server := httptest.NewServer(s.http)
		target, err := url.Parse(server.URL)
		require.NoError(t, err)
		transport := &http.Transport{}
		proxy := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: transport,
		})
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			r, err := http.NewRequest(method, proxy.URL+"/r", nil)
			require.NoError(t, err)
			r.Header.Set("Connection", "Fencing-Token")
			r.Header.Set("Fencing-Token", "5")
			response, err := proxy.Client().Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, c.code, response.StatusCode, method)
		}
		assert.Zero(t, m.Len(), "the token was never shown")
		proxy.Close()
		transport.CloseIdleConnections()
		server.Close()
	}
}

// TestRequireToken: reads are shown as arrivals, and writes stay checks.
func TestRequireToken(t *testing.T) {
	rec := &recorder{}
	s := configured(t, httpguard.Config{Guard: rec, RequireToken: true})
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT"} {
		assert.Equal(t, http.StatusPreconditionRequired, s.do(method, "/r").Code, method)
		assert.Equal(t, http.StatusOK, s.do(method, "/r", "5").Code, method)
	}
	assert.Equal(t, []string{"Admit r 5", "Admit r 5", "Admit r 5", "Check r 5"}, rec.calls)
}

// TestServersOwnLease: a server that works under a lease, such as a leader's, has its token in the
// context of every request. It doesn't stand in for a client's.
func TestServersOwnLease(t *testing.T) {
	s := newSite(t, new(fencing.Memory))
	r := httptest.NewRequest(http.MethodGet, "/doc", nil)
	r = r.WithContext(fencing.NewContext(r.Context(), 99))
	s.http.ServeHTTP(httptest.NewRecorder(), r)
	assert.Equal(t, 1, s.reached)
	assert.Zero(t, s.token)
	r.Header.Set(httpguard.HeaderName, "34")
	s.http.ServeHTTP(httptest.NewRecorder(), r)
	assert.EqualValues(t, 34, s.token)
}
