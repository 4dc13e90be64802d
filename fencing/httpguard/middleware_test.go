package httpguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a guarded handler that records what reached it.
type site struct {
	guard   fencing.Guard
	http    http.Handler
	reached int
	token   fencing.Token // of the last request that reached the handler
	told    []error       // what OnUnavailable was told
}

func newSite(t *testing.T, g fencing.Guard, methods map[string]httpguard.Action) *site {
	t.Helper()
	s := &site{guard: g}
	guarded, err := httpguard.New(httpguard.Config{
		Guard:         g,
		Resource:      func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") },
		Methods:       methods,
		OnUnavailable: func(_ *http.Request, err error) { s.told = append(s.told, err) },
	})
	require.NoError(t, err)
	s.http = guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reached++
		s.token, _ = fencing.FromContext(r.Context())
	}))
	return s
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
			s := newSite(t, new(fencing.Memory), nil)
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
	s := newSite(t, new(fencing.Memory), nil)
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
			s := newSite(t, new(fencing.Memory), nil)
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

// TestMethods: actions and methods can be paired at will, and each calls the
// method of the guard that it is named for.
func TestMethods(t *testing.T) {
	rec := &recorder{}
	s := newSite(t, rec, map[string]httpguard.Action{
		"GET": httpguard.Admit, "HEAD": httpguard.Check, "PUT": httpguard.AdmitIfSent, "REPORT": httpguard.Admit,
	})
	for _, c := range []struct {
		method  string
		without int
		calls   string
	}{
		{"GET", 428, "Admit"}, {"HEAD", 428, "Check"}, {"PUT", 200, "Admit"}, {"REPORT", 428, "Admit"},
		{"POST", 428, "Check"}, {"OPTIONS", 200, "Admit"},
	} {
		rec.calls = nil
		assert.Equal(t, c.without, s.do(c.method, "/r").Code, c.method)
		assert.Empty(t, rec.calls, "the guard is not asked about no token")
		assert.Equal(t, 200, s.do(c.method, "/r", "5").Code, c.method)
		assert.Equal(t, []string{c.calls + " r 5"}, rec.calls, c.method)
	}
}

type recorder struct {
	calls []string
	err   error
}

func (g *recorder) Admit(_ context.Context, r string, t fencing.Token) error {
	g.calls = append(g.calls, "Admit "+r+" "+t.String())
	return g.err
}

func (g *recorder) Check(_ context.Context, r string, t fencing.Token) error {
	g.calls = append(g.calls, "Check "+r+" "+t.String())
	return g.err
}

func TestMalformed(t *testing.T) {
	s := newSite(t, new(fencing.Memory), nil)
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
	s := newSite(t, new(fencing.Memory), nil)
	for _, path := range []string{"/", "/" + strings.Repeat("x", fencing.MaxResourceLen+1), "/%00"} {
		w := s.do("PUT", path, "1")
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assert.Contains(t, problem(t, w).Detail, "resource")
	}
	assert.Zero(t, s.reached)
}

// TestGuardUnavailable: the handler does not run, the client is not shown the
// cause, the operator is.
func TestGuardUnavailable(t *testing.T) {
	down := errors.New("dial tcp 10.0.0.7:6379: refused")
	s := newSite(t, &recorder{err: down}, nil)
	for _, method := range []string{"PUT", "GET"} {
		w := s.do(method, "/r", "1")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		problem(t, w)
		assert.NotContains(t, w.Body.String(), "10.0.0.7")
	}
	assert.Zero(t, s.reached)
	assert.Equal(t, []error{down, down}, s.told)
}

func TestUnavailableWithoutHook(t *testing.T) {
	guarded, err := httpguard.New(httpguard.Config{
		Guard: &recorder{err: errors.New("down")}, Resource: func(*http.Request) string { return "r" },
	})
	require.NoError(t, err)
	r := httptest.NewRequest("PUT", "/", nil)
	r.Header.Set(httpguard.HeaderName, "1")
	w := httptest.NewRecorder()
	guarded(http.NotFoundHandler()).ServeHTTP(w, r)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
}

func TestBareErrStale(t *testing.T) {
	s := newSite(t, &recorder{err: fencing.ErrStale}, nil)
	w := s.do("PUT", "/r", "1")
	assert.Equal(t, http.StatusConflict, w.Code)
	assert.Zero(t, problem(t, w).Highest)
}

// TestVary: no cache may answer a request with one token by what it kept for
// another, or for none.
func TestVary(t *testing.T) {
	s := newSite(t, new(fencing.Memory), nil)
	for _, w := range []*httptest.ResponseRecorder{s.do("GET", "/r"), s.do("GET", "/r", "2"), s.do("PUT", "/r", "1")} {
		assert.Equal(t, []string{"Fencing-Token"}, w.Header().Values("Vary"))
	}
}

func TestConfig(t *testing.T) {
	name := func(*http.Request) string { return "r" }
	var g fencing.Memory
	for says, c := range map[string]httpguard.Config{
		"Config.Guard":           {Resource: name},
		"Config.Resource":        {Guard: &g},
		"empty method":           {Guard: &g, Resource: name, Methods: map[string]httpguard.Action{"": httpguard.Admit}},
		`Config.Methods["get"]`:  {Guard: &g, Resource: name, Methods: map[string]httpguard.Action{"get": httpguard.Admit}},
		"is Action(3), want":     {Guard: &g, Resource: name, Methods: map[string]httpguard.Action{"GET": 3}},
		`["PUT"] is Action(-1),`: {Guard: &g, Resource: name, Methods: map[string]httpguard.Action{"PUT": -1}},
	} {
		_, err := httpguard.New(c)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "httpguard: ")
	}
	assert.Equal(t, "Check Admit AdmitIfSent", strings.Join([]string{
		httpguard.Check.String(), httpguard.Admit.String(), httpguard.AdmitIfSent.String()}, " "))
}

// TestMethodsAreCopied: changing the map after New does not open a method.
func TestMethodsAreCopied(t *testing.T) {
	methods := map[string]httpguard.Action{"GET": httpguard.Admit}
	s := newSite(t, new(fencing.Memory), methods)
	methods["PUT"] = httpguard.AdmitIfSent
	assert.Equal(t, http.StatusPreconditionRequired, s.do("PUT", "/r").Code)
}
