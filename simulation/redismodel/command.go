package redismodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command is a command that a database executes.
type command struct {
	// least and most bound the number of arguments after its name; most < 0 means no
	// limit.
	least, most int
	run         func(x *execution) Reply
	// reads means that it changes nothing.
	reads bool
}

// commands have their names in lower case. They are set later, because EVAL uses them.
var commands map[string]command

func init() {
	commands = map[string]command{
		"set":       {least: 2, most: -1, run: (*execution).set},
		"setnx":     {least: 2, most: 2, run: (*execution).setNX},
		"setex":     {least: 3, most: 3, run: (*execution).setEX},
		"get":       {least: 1, most: 1, run: (*execution).get, reads: true},
		"del":       {least: 1, most: 1, run: (*execution).del},
		"incr":      {least: 1, most: 1, run: (*execution).incr},
		"expire":    {least: 2, most: 2, run: expirer("expire", time.Second, false)},
		"pexpire":   {least: 2, most: 2, run: expirer("pexpire", time.Millisecond, false)},
		"pexpireat": {least: 2, most: 2, run: expirer("pexpireat", time.Millisecond, true)},
		"cad":       {least: 2, most: 2, run: (*execution).cad},
		"cas":       {least: 5, most: 5, run: (*execution).cas},
		"eval":      {least: 2, most: -1, run: (*execution).eval},
	}
}

// Do executes one command at the time now of the server's wall clock.
func (d Database) Do(args []string, now time.Time) Reply {
	if len(args) == 0 {
		return failure(unknown(""))
	}
	cmd, known := commands[strings.ToLower(args[0])]
	switch n := len(args) - 1; {
	case !known:
		return failure(unknown(args[0]))
	case n < cmd.least || cmd.most >= 0 && n > cmd.most:
		return failure(wrongNumber(args[0]))
	}
	x := &execution{Database: d, args: args[1:], now: now}
	if len(x.args) > 0 {
		x.value, x.expires, x.exists = d.Keys.Get(x.args[0], now)
	}
	return cmd.run(x)
}

func wrongNumber(name string) error {
	return fmt.Errorf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}

func unknown(name string) error { return fmt.Errorf("ERR unknown command '%s'", name) }

// Commands are the names of all commands, in lower case.
func Commands() []string { return slices.Collect(maps.Keys(commands)) }

// Keys returns the keys that a command names.
func Keys(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	if strings.EqualFold(args[0], "EVAL") && len(args) > 2 {
		keys, _, _ := scriptKeys(args[1:]) // none in case of an error
		return keys
	}
	return args[1:2]
}

// Writes reports whether a command may change data.
func Writes(args []string) bool { return !commands[strings.ToLower(args[0])].reads }

// Wait parses the arguments of WAIT, which a Database doesn't execute: it has no replicas.
func Wait(args []string) (replicas int, timeout time.Duration, err error) {
	if len(args) != 3 {
		return 0, 0, wrongNumber(args[0])
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return 0, 0, errNotInteger
	}
	ms, err := strconv.Atoi(args[2])
	if err != nil || ms < 0 || ms > int(longest/time.Millisecond) {
		return 0, 0, errors.New("ERR timeout is not an integer or out of range")
	}
	return n, time.Duration(ms) * time.Millisecond, nil
}

// longest bounds the timeout of WAIT, so that it can be added to a time.
const longest = 30 * 24 * time.Hour

// eval is EVAL.
func (x *execution) eval() Reply {
	keys, rest, err := scriptKeys(x.args)
	if err != nil {
		return failure(err)
	}
	script, known := x.scripts[x.args[0]]
	if !known {
		script, known = wellKnown[x.args[0]]
	}
	if !known {
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
