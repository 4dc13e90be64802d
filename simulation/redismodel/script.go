package redismodel

import "errors"

// Script is a Lua script in Go, for EVAL. It is executed in one step. It must depend only on
// the replies of call, on keys and on args, and must return an error that call returns.
type Script func(call func(args ...string) Reply, keys, args []string) Reply

// Scripts that every Database knows.
const (
	// CompareDel is the script of the Redis document for the release.
	CompareDel = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
	// CompareExpire is the same for an extension to ARGV[2] milliseconds.
	CompareExpire = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
)

// wellKnown are their Go forms.
var wellKnown = map[string]Script{CompareDel: ifEqual("DEL", 0), CompareExpire: ifEqual("PEXPIRE", 1)}

var (
	errNoScript      = errors.New("ERR simulation: unknown script; add the Go form of exactly this text to simulation.Config.Scripts")
	errScriptNumbers = errors.New("ERR simulation: too few keys or arguments for a well-known script")
)

// ifEqual is the script that runs a command if the key has the first argument as its value. The command
// has the key and the next arguments.
func ifEqual(command string, arguments int) Script {
	return func(call func(args ...string) Reply, keys, args []string) Reply {
		if len(keys) < 1 || len(args) < 1+arguments {
			return failure(errScriptNumbers)
		}
		if found := call("GET", keys[0]); found.Null || found.Text != args[0] {
			return number(0)
		}
		return call(append([]string{command, keys[0]}, args[1:1+arguments]...)...)
	}
}
