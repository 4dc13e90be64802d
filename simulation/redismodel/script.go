package redismodel

import (
	"errors"
	"strings"
)

// Script is a Lua script in Go, for EVAL. It is executed in one step. It must depend only on
// the replies of call, on keys and on args, and must return an error that call returns.
type Script func(call func(args ...string) Reply, keys, args []string) Reply

var errScriptNumbers = errors.New("ERR simulation: too few keys or arguments for a well-known script")

// Well-known scripts, which have a Go form. Texts are compared without regard to spaces,
// quotation marks, semicolons and case.
const (
	// CompareDel is the script of the Redis document for the release.
	CompareDel = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
	// CompareExpire is the same for an extension to ARGV[2] milliseconds.
	CompareExpire = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
)

// wellKnown is the Go forms of the well-known scripts, by canonical text.
var wellKnown = NewScripts(map[string]Script{
	CompareDel:    commandOf("COMPAREDEL", 1),
	CompareExpire: commandOf("COMPAREEXPIRE", 2),
})

// commandOf is the script of a command with one key and some arguments.
func commandOf(name string, arguments int) Script {
	return func(call func(args ...string) Reply, keys, args []string) Reply {
		if len(keys) < 1 || len(args) < arguments {
			return failure(errScriptNumbers)
		}
		return call(append([]string{name, keys[0]}, args[:arguments]...)...)
	}
}

// Scripts are scripts by their canonical texts.
type Scripts map[string]Script

// NewScripts returns scripts, given by their texts.
func NewScripts(scripts map[string]Script) Scripts {
	all := make(Scripts, len(scripts))
	for text, s := range scripts {
		all[canon(text)] = s
	}
	return all
}

func canon(text string) string {
	return strings.NewReplacer("'", `"`, ";", "").Replace(strings.ToLower(strings.Join(strings.Fields(text), "")))
}
