//go:build unix

package instance

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// straggler is a network that delays one write that contains a text until arrive is called. To the
// client the write succeeds, and the server gets it although the client hangs up.
type straggler struct {
	net.Conn
	text    string
	armed   *atomic.Bool
	delayed chan<- func()
}

func (s *straggler) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte(s.text)) || !s.armed.CompareAndSwap(true, false) {
		return s.Conn.Write(p)
	}
	late := bytes.Clone(p)
	s.delayed <- func() {
		_ = s.Conn.SetDeadline(time.Time{})
		_, _ = s.Conn.Write(late)
		_, _ = io.ReadFull(s.Conn, make([]byte, 4)) // it was carried out
	}
	return len(p), nil
}

func (s *straggler) Close() error { return nil } // the test's end closes it

// TestLateScriptSetsNothing: a transaction has set the key but granted nothing, and the script that
// decides arrives after the key was deleted. Package quorum takes a delete that found the value as
// proof that its request can't set the key any more.
func TestLateScriptSetsNothing(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	var armed atomic.Bool
	delayed := make(chan func(), 1)
	options := Harden(&redis.Options{Addr: s.Addr()})
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = conn.Close() })
		return &straggler{conn, acquireScript.sha, &armed, delayed}, nil
	}
	r := of(t, options)
	ask := asker(t, r)
	req := acquire("k", value())
	req.Run = runOf(t, r)
	granted(t, r.Do(within(t), req))
	granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))

	// A grant in another period, for which the script has to write the text.
	ask("SET", SetKey("k"), strings.Replace(ask("GET", SetKey("k")).(string), "/", "/1", 1), "KEEPTTL")
	req.Value = value()
	armed.Store(true)
	vote := make(votes, 1)
	late := pending(t, r, req, vote)
	arrive := <-delayed
	late()
	require.False(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	require.Equal(t, req.Value, ask("GET", "k"), "the transaction has set it")
	granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))
	arrive()
	require.Nil(t, ask("GET", "k"), "its key would never be deleted")
}
