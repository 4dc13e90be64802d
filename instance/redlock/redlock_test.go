package redlock_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// Nothing may be left running: one Close closes all.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a client whose leases and requests may take longer than a busy machine stands still.
func open(t *testing.T, cfg quorum.Config, urls ...string) *quorum.Coordinator {
	t.Helper()
	cfg.TTL, cfg.InstanceTimeout = 20*time.Second, 9*time.Second
	locks, err := redlock.Open(cfg, urls...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locks.Close(context.Background())) })
	require.NoError(t, locks.Trust(t.Context()))
	return locks
}

// After Close the servers have no connection of the client's left, and it sends nothing more.
func TestOneCloseClosesAll(t *testing.T) {
	servers, err := embedded.Start(3)
	require.NoError(t, err)
	defer func() { assert.NoError(t, servers.Close()) }()
	locks := open(t, quorum.Config{KeepAlive: true}, servers.URLs()...)
	lease, err := locks.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, locks.Close(t.Context()))
	require.ErrorIs(t, lease.Err(), quorum.ErrClosed)
	require.ErrorIs(t, lease.Release(t.Context()), quorum.ErrUnreachable, "its connections are closed, too")
	_, err = locks.Acquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrClosed)
	require.NoError(t, locks.Close(t.Context()))
}

func TestOpenErrors(t *testing.T) {
	const password = "s3cr3t"
	for says, c := range map[string]struct {
		cfg  quorum.Config
		urls []string
		is   error
	}{
		"are memory://, and": {urls: []string{"redis://:" + password + "@a", "memory://"}, is: quorum.ErrConfig},
		"both named":         {urls: []string{"memory://twice", "memory://twice"}, is: quorum.ErrDuplicate},
		"no URLs":            {urls: nil, is: quorum.ErrConfig},
		"URL 2 of 2":         {urls: []string{"redis://a", "http://:" + password + "@b"}, is: instance.ErrURL},
		"URLs 1 and 2":       {urls: []string{"redis://a", "redis://A:6379/3"}, is: instance.ErrURL},
		"Quorum is 1":        {cfg: quorum.Config{Quorum: 1}, urls: []string{"redis://a", "redis://b", "redis://c"}, is: quorum.ErrConfig},
		"CloseAlso is set":   {cfg: quorum.Config{CloseAlso: io.NopCloser(nil)}, urls: []string{"redis://a"}, is: quorum.ErrConfig},
		"TTL is 29s, but M":  {cfg: quorum.Config{TTL: 29 * time.Second}, urls: []string{"redis://a"}, is: quorum.ErrConfig},
	} {
		locks, err := redlock.Open(c.cfg, c.urls...)
		require.ErrorIs(t, err, c.is)
		assert.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), password)
		assert.Nil(t, locks)
	}
}

// The work's context carries the token to the guard of a service, without the work's help; and
// a late request of an earlier holder is refused.
func TestTheTokenTravelsWithTheContext(t *testing.T) {
	locks := open(t, quorum.Config{}, "memory://token")
	guard := &fencing.Memory{}
	var seen []fencing.Token
	protected, err := httpguard.New(httpguard.Config{
		Guard:    guard,
		Resource: func(*http.Request) string { return "doc" },
		Accept:   func(*http.Request, string, fencing.Token) error { return nil },
	}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		token, _ := fencing.FromContext(r.Context())
		seen = append(seen, token)
	}))
	require.NoError(t, err)
	service := httptest.NewServer(protected)
	defer service.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := &http.Client{Transport: &httpguard.Transport{Base: base}}
	put := func(ctx context.Context) int {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, service.URL, strings.NewReader("x"))
		require.NoError(t, err)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}

	var late context.Context
	for range 2 {
		err := locks.Do(t.Context(), "doc", func(ctx context.Context, lease *quorum.Lease) error {
			if late == nil {
				late = context.WithoutCancel(ctx) // what a paused holder sends after its end
			}
			assert.Equal(t, http.StatusOK, put(ctx))
			assert.Equal(t, lease.Token(), seen[len(seen)-1])
			return nil
		})
		require.NoError(t, err)
	}
	require.Len(t, seen, 2)
	assert.Greater(t, seen[1], seen[0])
	assert.Equal(t, http.StatusConflict, put(late))
	assert.Equal(t, http.StatusPreconditionRequired, put(t.Context()), "outside of a lease there is no token")

	// KeepAlive's context has it, too, and so has one of the caller's.
	lease, err := locks.Acquire(t.Context(), "doc")
	require.NoError(t, err)
	lease.KeepAlive()
	assert.Equal(t, http.StatusOK, put(lease.Context()))
	assert.Equal(t, http.StatusOK, put(lease.Within(t.Context())))
	require.NoError(t, lease.Release(t.Context()))
}

// The longest value that a lock can have passes every command on the way.
func TestTheLongestNote(t *testing.T) {
	var urls []string
	for _, s := range instancetest.StartN(t, 3, instancetest.Config{}) {
		urls = append(urls, "redis://"+s.Addr())
	}
	owner, note := strings.Repeat("o", 64), "\"'\\ \u00a1"+strings.Repeat("n", 122)
	for _, fencing := range []quorum.Switch{quorum.On, quorum.Off} {
		locks := open(t, quorum.Config{Owner: owner, Lab: quorum.Lab{Fencing: fencing}, Note: note}, urls...)
		ctx := t.Context()
		lease, err := locks.Acquire(ctx, "k")
		require.NoError(t, err)
		require.Len(t, lease.Value(), 40+1+64+1+128)
		found, err := locks.Inspect(ctx, "k")
		require.NoError(t, err)
		require.NotNil(t, found.Held())
		assert.Equal(t, []string{owner, note, lease.Value()}, []string{found.Held().Owner, found.Held().Note, found.Held().Value})
		require.NoError(t, lease.Extend(ctx))

		handle, err := lease.HandOff(ctx)
		require.NoError(t, err)
		resumed, err := locks.Resume(ctx, handle)
		require.NoError(t, err)
		_, err = locks.TryAcquire(ctx, "k")
		require.True(t, errors.Is(err, quorum.ErrTaken))
		assert.True(t, quorum.Retryable(err))
		require.NoError(t, resumed.Release(ctx))
		require.NoError(t, locks.Close(ctx))
	}
}
