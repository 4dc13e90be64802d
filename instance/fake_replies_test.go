//go:build unix

package instance

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// every returns one request of each operation.
func every() []wire.Request {
	cmds := []wire.Request{acquire("k", value())}
	bare := acquire("k", value())
	bare.Fence.On = false
	cmds = append(cmds, bare)
	for _, op := range []wire.Op{wire.Raise, wire.Extend, wire.Restore, wire.Release, wire.Look, wire.Tick} {
		req := request(op, "k", value())
		req.Fence.Token = 1
		cmds = append(cmds, req)
	}
	return cmds
}

// TestGarbage gets answers that no server gives. None is a vote, and the connection is never used
// again.
func TestGarbage(t *testing.T) {
	const script = "*7\r\n:7\r\n:1\r\n$0\r\n\r\n:0\r\n:5\r\n:1\r\n:1\r\n"
	for name, reply := range map[string]string{
		"another request's answer": script,
		"nonsense":                 "hello\r\n",
		"http":                     "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
		"a float":                  ",1.5\r\n",
		"a map":                    "%1\r\n+a\r\n+b\r\n",
		"a huge text":              "$999999999\r\nx",
		"a negative length":        "$-7\r\n",
		"a huge array":             "*999999999\r\n",
		"a nested array":           strings.Repeat("*1\r\n", 40_000),
		"another status":           "+QUEUED\r\n",
		"an attribute":             "|1\r\n+a\r\n+b\r\n+OK\r\n",
		"a push":                   ">1\r\n+hello\r\n",
		"no line end":              "+OK\n",
		"half an answer":           "*7\r\n$1" + hangUp,
		"nothing":                  hangUp,
		"binary":                   "\x16\x03\x01\x00\xff\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, func([]string) string { return reply })
			r := open(t, "redis://"+f.addr, Config{})
			for i, req := range every() {
				v := r.Do(within(t), req)
				require.Equal(t, wire.Failed, v.Outcome, "%v", req.Op)
				require.Error(t, v.Err)
				require.False(t, v.Unsent, "it was sent")
				require.NotErrorIs(t, v.Err, context.DeadlineExceeded)
				require.Equal(t, i+1, f.connections(), "%v: a connection of its own: %v", req.Op, v.Err)
			}
			_, err := r.Probe(within(t), wire.Known{})
			require.Error(t, err)
		})
	}
}

// TestWrongAnswers gets answers of the right shape with a value that no script returns.
func TestWrongAnswers(t *testing.T) {
	for name, reply := range map[string]func(args []string) string{
		"outcome": func(args []string) string { return scriptReply(args, "5", "", 0, "5") },
		"empty":   func(args []string) string { return scriptReply(args, "", "", 0, "5") },
		"token":   func(args []string) string { return scriptReply(args, "1", "", 0, "five") },
		"clock": func(args []string) string {
			return strings.Replace(scriptReply(args, "1", "", 0, "5"), "1700000000", "17-0000000", 1)
		},
		"more": func(args []string) string {
			return strings.Replace(scriptReply(args, "1", "", 0, "5"), ":5\r\n", "*0\r\n", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, reply)
			r := open(t, "redis://"+f.addr, Config{})
			failed(t, r.Do(within(t), acquire("k", value())), ErrReply)
		})
	}
	f := startFake(t, func(args []string) string { return scriptReply(args, "1", "", 0, "9007199254740992") })
	r := open(t, "redis://"+f.addr, Config{})
	failed(t, r.Do(within(t), acquire("k", value())), wire.ErrCounter)
}

// TestReadOnlyGivesUpTheConnection: the name may lead to the new master.
func TestReadOnlyGivesUpTheConnection(t *testing.T) {
	f := startFake(t, func([]string) string { return "-READONLY You can't write against a read only replica.\r\n" })
	r := open(t, "redis://"+f.addr, Config{})
	for i := range 3 {
		failed(t, r.Do(within(t), acquire("k", value())), wire.ErrNotMaster)
		require.Equal(t, i+1, f.connections())
	}
}

// TestMissingScript sends everything again, once, with the script's text.
func TestMissingScript(t *testing.T) {
	f := startFake(t, func(args []string) string {
		if args[0] == "EVALSHA" {
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		if args[0] == "WAIT" {
			return ":2\r\n"
		}
		return scriptReply(args, "1", "", 0, "5")
	})
	r := open(t, "redis://"+f.addr, Config{Replicas: 2})
	near(r)
	require.EqualValues(t, 5, granted(t, r.Do(within(t), acquire("k", "v"))).Token)
	var names []string
	for _, args := range f.commands() {
		names = append(names, args[0])
	}
	require.Equal(t, []string{"EVALSHA", "WAIT", "EVAL", "WAIT"}, names)
	require.Equal(t, 1, f.connections(), "all on one connection")

	again := startFake(t, func([]string) string { return "-NOSCRIPT No matching script.\r\n" })
	r = open(t, "redis://"+again.addr, Config{})
	near(r)
	failed(t, r.Do(within(t), acquire("k", "v")), ErrServer)
	require.Len(t, again.commands(), 2, "not forever")
}

// TestReplicas counts a grant only if enough replicas have it.
func TestReplicas(t *testing.T) {
	var acks atomic.Pointer[string]
	f := startFake(t, func(args []string) string {
		switch args[0] {
		case "WAIT":
			return *acks.Load()
		case "SET":
			return "+OK\r\n"
		case "PTTL":
			return ":10\r\n"
		case "TIME":
			return "*2\r\n$1\r\n1\r\n$1\r\n1\r\n"
		}
		return scriptReply(args, "1", "", 0, "5")
	})
	r := open(t, "redis://"+f.addr, Config{Replicas: 2, ReplicaTimeout: 30 * time.Millisecond})
	for reply, kind := range map[string]error{
		":2\r\n": nil, ":3\r\n": nil, ":1\r\n": wire.ErrNotReplicated, ":0\r\n": wire.ErrNotReplicated,
		"-ERR WAIT cannot be used with replica instances.\r\n": wire.ErrNotReplicated, "-NOPERM no\r\n": ErrPermission, "+OK\r\n": ErrReply,
	} {
		acks.Store(&reply)
		for _, req := range every() {
			v := r.Do(within(t), req)
			switch req.Op {
			case wire.Acquire, wire.Raise, wire.Extend, wire.Restore:
				if kind != nil {
					require.False(t, failed(t, v, kind).Unsent, "the key may be there")
					continue
				}
			}
			granted(t, v)
		}
	}
	waits := 0
	for _, args := range f.commands() {
		if args[0] == "WAIT" {
			waits++
			require.Equal(t, []string{"WAIT", "2", "30"}, args)
		}
	}
	require.Equal(t, 7*5, waits)
}
