//go:build unix

package instance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// TestManyTransactions: the replies to MULTI are not kept. They would fill a buffer after 13 107
// transactions, and then every further one would fail.
func TestManyTransactions(t *testing.T) {
	r, _ := real(t, Config{})
	run := runOf(t, r)
	for i := range 14_000 {
		req := acquire("k", value())
		req.Run = run
		v := r.Do(within(t), req)
		require.Equal(t, wire.Granted, v.Outcome, "%d: %v", i, v.Err)
		granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))
	}
}

// warmed has a lock granted, so that the next request for it is a transaction.
func warmed(t *testing.T, r *Redis, key string, run wire.Run) wire.Request {
	t.Helper()
	req := acquire(key, value())
	req.Run = run
	granted(t, r.Do(within(t), req))
	granted(t, r.Do(within(t), request(wire.Release, key, req.Value)))
	require.True(t, r.warm.has(r.warm.hash(&req)))
	req.Value = value()
	return req
}

// TestLongTextSpoilsOneTransaction: a text beside one lock's counter makes the reply to a
// transaction too long, but only once: then a script reports the fault.
func TestLongTextSpoilsOneTransaction(t *testing.T) {
	r, _ := real(t, Config{})
	ask := asker(t, r)
	run := runOf(t, r)
	bad, good := warmed(t, r, "bad", run), warmed(t, r, "good", run)
	ask("SET", SetKey("bad"), strings.Repeat("x", 2*maxReply))
	failed(t, r.Do(within(t), bad), ErrReply)
	require.True(t, r.transactions.Load())
	failed(t, r.Do(within(t), bad), wire.ErrCounter)
	require.True(t, r.transactional(r.newCall(good)))
	granted(t, r.Do(within(t), good))
}

// TestTransactionsGoOn: after its memory was full for a while, a server gets transactions again,
// without another Probe.
func TestTransactionsGoOn(t *testing.T) {
	r, _ := real(t, Config{})
	ask := asker(t, r)
	run := runOf(t, r)
	req := warmed(t, r, "k", run)
	ask("CONFIG", "SET", "maxmemory", "1")
	v := failed(t, r.Do(within(t), req), ErrOutOfMemory)
	require.True(t, v.Unsent)
	ask("CONFIG", "SET", "maxmemory", "0")
	require.True(t, r.transactions.Load())
	require.True(t, r.transactional(r.newCall(warmed(t, r, "k", run))))
}

// TestTransactionsAreForbidden: a server without one of a transaction's commands, or a user without
// the right to one, gets scripts, and no connection stays in a transaction.
func TestTransactionsAreForbidden(t *testing.T) {
	works := func(t *testing.T, r *Redis, probes bool) {
		run := runOf(t, r)
		require.Equal(t, probes, r.transactions.Load())
		var conn *connection
		for range 2 {
			granted(t, r.Do(within(t), warmed(t, r, "k", run)))
			granted(t, r.Do(within(t), warmed(t, r, "other", run)))
			require.False(t, r.transactions.Load())
			if conn == nil {
				conn = onlyConnection(t, r)
			}
			require.Same(t, conn, onlyConnection(t, r))
			asker(t, r)("DEL", "k", "other")
		}
	}
	for _, name := range []string{"MULTI", "EXEC", "ECHO"} {
		t.Run("no "+name, func(t *testing.T) {
			r, _ := real(t, Config{}, "--rename-command", name, "")
			works(t, r, name == "ECHO")
		})
		t.Run("no right to "+name, func(t *testing.T) {
			_, s := real(t, Config{})
			s.MustAsk("ACL", "SETUSER", "few", "on", "nopass", "~*", "&*", "+@all", "-"+strings.ToLower(name))
			works(t, open(t, "redis://few:x@"+s.Addr(), Config{}), name == "ECHO")
		})
	}
	t.Run("lost the right to MULTI", func(t *testing.T) {
		_, s := real(t, Config{})
		s.MustAsk("ACL", "SETUSER", "few", "on", "nopass", "~*", "&*", "+@all")
		r := open(t, "redis://few:x@"+s.Addr(), Config{})
		req := warmed(t, r, "k", runOf(t, r))
		s.MustAsk("ACL", "SETUSER", "few", "-multi")
		v := r.Do(within(t), req)
		require.ErrorIs(t, v.Err, ErrReply)
		require.ErrorContains(t, v.Err, "because MULTI had failed: NOPERM")
	})
}

// TestNoOpenTransaction: a server that refuses EXEC without saying that it aborted the transaction
// may still have it open. Nothing else is sent on that connection.
func TestNoOpenTransaction(t *testing.T) {
	f := startFake(t, func(args []string) string {
		switch args[0] {
		case "MULTI":
			return "+OK\r\n"
		case "EXEC":
			return "-LOADING Redis is loading the dataset in memory\r\n"
		}
		return "+QUEUED\r\n"
	})
	r := open(t, "redis://"+f.addr, Config{})
	r.transactions.Store(true)
	for i := range 3 {
		req := acquire("k", value())
		req.Run = "run"
		r.warm.note(r.warm.hash(&req), true)
		require.True(t, failed(t, r.Do(within(t), req), ErrLoading).Unsent)
		require.Equal(t, i+1, f.connections())
		require.False(t, r.warm.has(r.warm.hash(&req)), "a script says next time what is wrong")
	}
}
