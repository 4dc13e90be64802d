//go:build unix

package instance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// TestAnswers: what error answers mean, in the wording of many servers and versions.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		text string
		kind error
		says string // the answer in our error, if it differs
	}{
		{text: "NOREPLICAS Not enough good replicas to write.", kind: ErrMisconf},
		{text: "READONLY You can't write against a read only replica.", kind: wire.ErrNotMaster},
		{text: "NOPERM User x has no permissions to run the 'evalsha' command", kind: ErrPermission},
		{text: "MOVED 3999 127.0.0.1:6381", kind: ErrCluster},
		{text: "DENIED Redis is running in protected mode because", kind: ErrProtected},
		{text: "ERR max number of clients reached", kind: ErrMaxClients},
		{text: "ERR DB index is out of range", kind: ErrDatabase},
		{text: "ERR SELECT is not allowed in cluster mode", kind: ErrCluster},

		// Redis 5 and 6, KeyDB: a script's command, with a code and without.
		{
			text: "@user_script: 160: -NOREPLICAS Not enough good replicas to write.\r\n", kind: ErrMisconf,
			says: "(NOREPLICAS Not enough good replicas to write.)",
		}, {
			text: "ERR Error running script (call to f_abc): @user_script:3: @user_script: 3: -OOM command not allowed when used memory > 'maxmemory'.\r\n", kind: ErrOutOfMemory,
			says: "(OOM command not allowed when used memory > 'maxmemory'.)",
		}, {
			text: "@user_script: 12: -READONLY You can't write against a read only replica.\r\n", kind: wire.ErrNotMaster,
			says: "(READONLY You can't write against a read only replica.)",
		}, {
			text: "ERR Error running script (call to f_0): @user_script:3: WRONGTYPE Operation against a key", kind: ErrWrongType,
			says: "(WRONGTYPE Operation against a key)",
		}, {
			text: "@user_script: 7: The user executing the script can't run this command or subcommand", kind: ErrPermission,
			says: "(The user executing the script can't run this command or subcommand)",
		}, {
			text: "@user_script: 7: -NOPERM this user has no permissions to run the 'incr' command\r\n", kind: ErrPermission,
			says: "(NOPERM this user has no permissions to run the 'incr' command)",
		}, {
			text: "@user_script: 1: Unknown Redis command called from Lua script", kind: ErrCommand,
			says: "(Unknown Redis command called from Lua script)",
		}, {
			text: "ERR Error running script (call to f_0): @user_script:1: ERR unknown command 'evalsha'", kind: ErrCommand,
			says: "(ERR unknown command 'evalsha')",
		},

		// Redis 7.0, 7.2 and later, Valkey.
		{text: "ERR The user executing the script can't access at least one of the keys", kind: ErrPermission},
		{text: "NOPERM ACL failure in script: User x has no permissions to run the 'hset' command", kind: ErrPermission},
		{
			text: "ERR ACL failure in script: User x has no permissions to run the 'pexpire' command script: 9f, on @user_script:5.", kind: ErrPermission,
			says: "(ERR ACL failure in script: User x has no permissions to run the 'pexpire' command)",
		},
		{text: "ERR ACL failure in script: User x has no permissions to access the 'READONLY x' key", kind: ErrPermission},
		{text: "ERR Unknown Redis command called from script script: f_1, on @user_script:1.", kind: ErrCommand, says: "(ERR Unknown Redis command called from script)"},
		{text: "ERR Unknown command called from script script: on @user_script:1.", kind: ErrCommand, says: "(ERR Unknown command called from script)"},
		{text: "ERR Unknown Redict command called from script", kind: ErrCommand},
		{
			text: "ERR Script attempted to access keys that do not hash to the same slot script: 9f, on @user_script:5.", kind: ErrCluster,
			says: "(ERR Script attempted to access keys that do not hash to the same slot)",
		},

		// A command that doesn't exist: rename-command, proxies.
		{text: "ERR unknown command 'EVALSHA', with args beginning with: '9f' '3' 'k' ", kind: ErrCommand},
		{text: "ERR unknown command `evalsha`, with args beginning with: ", kind: ErrCommand},
		{text: "ERR unknown command 'EVALSHA', with args beginning with: '9f' 'OOM x' 'script'", kind: ErrCommand},
		{text: "ERR unsupported command 'evalsha'", kind: ErrCommand},
		{text: "unsupported command 'evalsha'", kind: ErrCommand},
		{text: "ERR Command is not available: 'EVALSHA'. See the docs", kind: ErrCommand},
		{text: "ERR unknown command 'INCR'", kind: ErrCommand}, // by a script that had set the key

		// Texts that a caller chose don't count.
		{text: "ERR no such thing as 'READONLY x'", kind: ErrServer},
		{text: "ERR bad key ' -OOM NOPERM unauthenticated WRONGTYPE '", kind: ErrServer},
		{text: "WRONGTYPE Operation against a key holding the wrong kind of value", kind: ErrWrongType},
		{text: "ERR something new", kind: ErrServer},
	} {
		err := serverError(c.text)
		require.ErrorIs(t, err, c.kind, c.text)
		require.Equal(t, c.kind, kindOf(c.text))
		says := c.says
		if says == "" {
			says = "(" + strings.TrimSpace(c.text) + ")"
		}
		if c.kind == ErrCommand {
			says = strings.Replace(says, ", with args"+afterArgs(says), ")", 1)
			require.NotContains(t, err.Error(), "args", "a lock's value can be among them")
		}
		require.True(t, strings.HasSuffix(err.Error(), says), "%v", err)
		require.ErrorAs(t, err, new(interface{ RedisError() }))
	}
}

func afterArgs(text string) string {
	_, after, _ := strings.Cut(text, ", with args")
	return after
}

// TestWhatWaitingCures: an error says of itself whether waiting helps.
func TestWhatWaitingCures(t *testing.T) {
	for text, permanent := range map[string]bool{
		"NOAUTH x": true, "WRONGPASS x": true, "NOPERM x": true, "ERR unknown command 'x'": true, "DENIED x": true,
		"ERR DB index is out of range": true, "MOVED x": true, "WRONGTYPE x": true, "ERR ACL failure in script: x": true,
		"READONLY x": false, "OOM x": false, "BUSY x": false, "LOADING x": false, "MISCONF x": false, "NOREPLICAS x": false,
		"ERR max number of clients reached": false, "ERR x": false, "REDLOCKCOUNTER x": true,
	} {
		require.Equal(t, permanent, isPermanent(serverError(text)), text)
	}
	for e, permanent := range map[*refusal]bool{
		{kind: ErrNotRedis}: true, {kind: ErrProtected}: true, {kind: ErrMaxClients}: false,
	} {
		require.Equal(t, permanent, isPermanent(fmt.Errorf("dial: %w", e)), e.kind)
	}
}

// TestServersThatLackCommands: waiting doesn't bring back a renamed command, a request that did
// nothing needs no delete, and waiters learn that they can't be notified.
func TestServersThatLackCommands(t *testing.T) {
	for lacking, c := range map[string]struct {
		subscribes, enqueues, acquires, releases bool
	}{
		"INCR":      {subscribes: true, enqueues: true, releases: true},
		"SUBSCRIBE": {enqueues: true, acquires: true, releases: true},
		"PUBLISH":   {enqueues: true, acquires: true, releases: true},
		"RPUSH":     {subscribes: true, acquires: true, releases: true},
		"DEL":       {subscribes: true, enqueues: true, acquires: true},
		"TIME":      {subscribes: true, releases: true},
		"PEXPIRE":   {subscribes: true, acquires: true, releases: true},
		// What hosted servers hide.
		"CONFIG":  {subscribes: true, enqueues: true, acquires: true, releases: true},
		"CLIENT":  {subscribes: true, enqueues: true, acquires: true, releases: true},
		"COMMAND": {subscribes: true, enqueues: true, acquires: true, releases: true},
	} {
		t.Run(lacking, func(t *testing.T) {
			r, s := real(t, Config{}, "--rename-command", lacking, "")
			switch _, err := open(t, s.URL(), Config{}).Probe(within(t), wire.Known{}); lacking {
			case "DEL", "TIME", "PEXPIRE", "INCR":
				require.ErrorIs(t, err, ErrCommand)
				require.ErrorContains(t, err, "(it lacks "+lacking+")")
				require.True(t, isPermanent(err))
			default:
				require.NoError(t, err)
			}
			v := r.Do(within(t), acquire("k", "v"))
			if c.acquires {
				granted(t, v)
			} else {
				failed(t, v, ErrCommand)
				require.True(t, isPermanent(v.Err))
				require.True(t, v.Unsent)
			}
			s.MustAsk("SET", "held", "another client")
			if v = enqueue(within(t), r, "held", "me"); c.enqueues {
				require.NoError(t, v.Err)
			} else {
				failed(t, v, ErrCommand)
				require.True(t, isPermanent(v.Err))
			}
			s.MustAsk("SET", "mine", "v")
			release := request(wire.Release, "mine", "v")
			release.Clock = true
			if v = r.Do(within(t), release); c.releases {
				granted(t, v)
			} else {
				failed(t, v, ErrCommand)
				require.True(t, isPermanent(v.Err))
			}
			sub, err := r.Subscribe(within(t))
			if c.subscribes {
				require.NoError(t, err)
				require.NoError(t, sub.Close())
				return
			}
			require.ErrorIs(t, err, ErrCommand)
			require.True(t, isPermanent(err))
		})
	}
}

// TestLongAnswers are cut, and what can't be printed is quoted.
func TestLongAnswers(t *testing.T) {
	err := serverError("OOM " + strings.Repeat("é", 10_000))
	require.ErrorIs(t, err, ErrOutOfMemory)
	require.Less(t, len(err.Error()), maxRepeated+len(ErrOutOfMemory.Error())+10)
	require.True(t, strings.HasSuffix(err.Error(), "é...)"), "%v", err)
	require.Equal(t, `"ERR \x1b[2J\nx"`, readable([]byte("ERR \x1b[2J\nx\r\n")))
	require.Equal(t, "ERR é", readable([]byte("ERR é\r\n")))
	require.Equal(t, `"\u009b2J"`, readable([]byte("\u009b2J")))
	require.Equal(t, `"a\u202eb"`, readable([]byte("a\u202eb")), "text from right to left")
}
