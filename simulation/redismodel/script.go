package redismodel

import (
	"errors"
	"strconv"
	"strings"
)

// Script is a Lua script in Go, for EVAL. It is executed in one step. It must depend only on
// the replies of call, on keys and on args, and must return an error that call returns.
type Script func(call func(args ...string) Reply, keys, args []string) Reply

var (
	errNoScript      = errors.New("ERR simulation: unknown script; add its Go form to simulation.Config.Scripts")
	errNegativeKeys  = errors.New("ERR Number of keys can't be negative")
	errTooManyKeys   = errors.New("ERR Number of keys can't be greater than number of args")
	errScriptNumbers = errors.New("ERR simulation: too few keys or arguments for a well-known script")
)

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
	CompareDel: taking(1, func(call func(...string) Reply, keys, args []string) Reply {
		return call("COMPAREDEL", keys[0], args[0])
	}),
	CompareExpire: taking(2, func(call func(...string) Reply, keys, args []string) Reply {
		return call("COMPAREEXPIRE", keys[0], args[0], args[1])
	}),
})

// taking makes a script of one key fail if it has too few arguments.
func taking(arguments int, s Script) Script {
	return func(call func(args ...string) Reply, keys, args []string) Reply {
		if len(keys) < 1 || len(args) < arguments {
			return failure(errScriptNumbers)
		}
		return s(call, keys, args)
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

// eval is EVAL.
func (x *execution) eval() Reply {
	keys, rest, err := scriptKeys(x.args)
	if err != nil {
		return failure(err)
	}
	text := canon(x.args[0])
	script := x.scripts[text]
	if script == nil {
		script = wellKnown[text]
	}
	if script == nil {
		return failure(errNoScript)
	}
	return script(func(args ...string) Reply { return x.Do(args, x.now) }, keys, rest)
}

// scriptKeys splits what EVAL gets into keys and arguments.
func scriptKeys(args []string) (keys, rest []string, err error) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	switch {
	case err != nil:
		return nil, nil, errNotInteger
	case n < 0:
		return nil, nil, errNegativeKeys
	case n > int64(len(args)-2):
		return nil, nil, errTooManyKeys
	}
	return args[2 : 2+n], args[2+n:], nil
}
