package simulation

import (
	"context"
	"slices"
	"strings"
)

// Redis sends Redis's own commands to one server, for designs that don't use this library.
// It knows these commands, with their meaning in Redis 7 or in the product that is named:
//
//	SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL] [IFEQ value]   IFEQ: Redis 8.4, Valkey 8.1
//	SETNX, SETEX, PSETEX, GET, GETDEL, DEL, EXISTS, INCR, EXPIRE, PEXPIRE, PEXPIREAT, PERSIST, TTL, PTTL
//	HSET, HSETNX, HGET, HDEL, HEXISTS, HLEN, HINCRBY
//	EVAL script numkeys key ... arg ...                                            a well-known script, such as CompareDel, or one of Config.Scripts
//	MULTI ... EXEC                                                                 see Transaction
//	CAD key value, CAS key old new PX ms                                           Tair
//	DELEX key IFEQ value                                                           Redis 8.4
//	DELIFEQ key value                                                              Valkey 9.0
//	WAIT replicas ms, TIME, PING, FLUSHALL
//	COMPAREDEL key value, COMPAREEXPIRE key value ms                               the well-known scripts, as commands of this package
//
// COMPAREDEL deletes the key if it has the value, and COMPAREEXPIRE sets its expiry. The
// reply is 1 if it did, and 0 if not.
type Redis interface {
	// Name is the server's, or the alias's.
	Name() string
	// Do sends one command, at most once. An error is the connection's (ErrRefused,
	// ErrReset) or the context's. Unless it is ErrRefused, the command may have been
	// executed.
	Do(ctx context.Context, args ...string) (Reply, error)
}

// Reply is a server's reply to a command.
type Reply struct {
	// Null is Redis's null: no such key, or a condition that wasn't met.
	Null bool
	// Int is an integer reply. TIME replies in microseconds.
	Int int64
	// Text is a string reply, including "OK".
	Text string
	// Err is an error reply.
	Err error
	// All is the replies to a Transaction's commands.
	All []Reply
}

// rawCommand is a Redis command as it is sent.
type rawCommand struct {
	args []string
	text string // all arguments, to sort by
}

// keys returns the keys that the command names. Commands for all keys name none.
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
		keys, _, _ := scriptKeys(args[1:]) // none in case of an error
		return keys
	case multi:
		queued, _ := Transacted(args[1:]) // none in case of an error
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
