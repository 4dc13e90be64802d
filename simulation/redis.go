package simulation

import (
	"context"
	"slices"
	"strings"
)

// Redis speaks to one server in Redis's own commands: what designs need that
// don't go through this library. It has these, with the meaning that they have in
// Redis 7 and, where it is said, elsewhere:
//
//	SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL] [IFEQ value]   IFEQ: Redis 8.4, Valkey 8.1
//	SETNX, SETEX, PSETEX, GET, GETDEL, DEL, EXISTS, INCR, EXPIRE, PEXPIRE, PEXPIREAT, PERSIST, TTL, PTTL
//	HSET, HSETNX, HGET, HDEL, HEXISTS, HLEN, HINCRBY
//	EVAL script numkeys key ... arg ...                                            a script that is well known, such as CompareDel, or in Config.Scripts
//	MULTI ... EXEC                                                                 see Transaction
//	CAD key value, CAS key old new PX ms                                           Tair
//	DELEX key IFEQ value                                                           Redis 8.4
//	WAIT replicas ms, TIME, PING, FLUSHALL
//	COMPAREDEL key value, COMPAREEXPIRE key value ms                               the well-known scripts, by names that only this package has
//
// COMPAREDEL deletes the key if it has the value, COMPAREEXPIRE gives it ms more
// to live: 1 if it did, 0 if not.
type Redis interface {
	// Name is the server's, or the alias's.
	Name() string
	// Do sends one command, at most once. An error is the connection's (ErrRefused,
	// ErrReset, the context's): the command may have been executed, unless it is
	// ErrRefused.
	Do(ctx context.Context, args ...string) (Reply, error)
}

// Reply is what a server answered to a command.
type Reply struct {
	// Null is Redis's null: no such key, or a condition that wasn't met.
	Null bool
	// Int is a number that was answered. TIME answers in microseconds.
	Int int64
	// Text is a text that was answered, "OK" among them.
	Text string
	// Err is an error that was answered.
	Err error
	// All is the answers to a Transaction's commands.
	All []Reply
}

// rawCommand is one of Redis's commands as it is sent.
type rawCommand struct {
	args []string
	text string // all of it, to sort by
}

// keys are those that the command names; none for one that concerns all or none.
func (c *rawCommand) keys() []string { return keysOf(c.args) }

func keysOf(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	switch strings.ToUpper(args[0]) {
	case "TIME", "PING", "FLUSHALL", "WAIT":
		return nil
	case "DEL", "EXISTS":
		return args[1:]
	case "EVAL":
		if len(args) < 3 {
			return nil
		}
		keys, _, _ := scriptKeys(args[1:]) // none if they can't be told
		return keys
	case multi:
		queued, _ := Transacted(args[1:]) // none if they can't be told
		var keys []string
		for _, cmd := range queued {
			for _, key := range keysOf(cmd) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
		return keys
	}
	return args[1:2]
}

// writes reports whether the command may change data.
func (c *rawCommand) writes() bool {
	name := strings.ToUpper(c.args[0])
	return name != "WAIT" && !commands[name].reads
}
