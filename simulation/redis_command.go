package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/quorumtest"
)

// database executes Redis's own commands on one server's data. The library's commands
// use the same data. Their resource counter and the record beside it (of the set and the
// run ID of the last grant) have keys of their own in Redis and are not visible here.
type database struct {
	*quorumtest.Data
	scripts map[string]Script // by canonical text, beside those that are well known
}

func newDatabase(scripts map[string]Script) database {
	return database{quorumtest.NewData(), scripts}
}

// Redis's replies, verbatim.
var (
	errSyntax     = errors.New("ERR syntax error")
	errNotInteger = errors.New("ERR value is not an integer or out of range")
	//lint:ignore ST1005 as the server has it
	errReadOnly  = errors.New("READONLY You can't write against a read only replica.")
	errOverflow  = errors.New("ERR increment or decrement would overflow")
	errWrongType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")
)

var okReply = Reply{Text: "OK"}

// number is an integer reply.
func number(n int64) Reply { return Reply{Int: n} }

func truth(is bool) Reply {
	if is {
		return number(1)
	}
	return number(0)
}

func failure(err error) Reply { return Reply{Err: err} }

// kind is the value type that a command requires.
type kind uint8

const (
	anyKind kind = iota
	textKind
	hashKind
)

// command is a command that a database executes.
type command struct {
	// least and most bound the number of arguments after its name; most < 0 means no
	// limit.
	least, most int
	run         func(x *execution) Reply
	// check, if set, validates the arguments before the key is read.
	check func(args []string) error
	// on is the type of its first argument, a key, if the key exists.
	on kind
	// reads means that it changes nothing.
	reads bool
}

var commands map[string]command

func init() {
	commands = map[string]command{
		"SET":           {least: 2, most: -1, run: (*execution).set},
		"SETNX":         {least: 2, most: 2, run: (*execution).setNX},
		"SETEX":         {least: 3, most: 3, run: setter("setex", time.Second)},
		"PSETEX":        {least: 3, most: 3, run: setter("psetex", time.Millisecond)},
		"GET":           {least: 1, most: 1, run: (*execution).get, on: textKind, reads: true},
		"GETDEL":        {least: 1, most: 1, run: (*execution).getDel, on: textKind},
		"DEL":           {least: 1, most: -1, run: (*execution).del},
		"EXISTS":        {least: 1, most: -1, run: (*execution).existing, reads: true},
		"INCR":          {least: 1, most: 1, run: (*execution).incr, on: textKind},
		"EXPIRE":        {least: 2, most: 2, run: expirer(time.Second, false)},
		"PEXPIRE":       {least: 2, most: 2, run: expirer(time.Millisecond, false)},
		"PEXPIREAT":     {least: 2, most: 2, run: expirer(time.Millisecond, true)},
		"PERSIST":       {least: 1, most: 1, run: (*execution).persist},
		"TTL":           {least: 1, most: 1, run: lifetime(time.Second), reads: true},
		"PTTL":          {least: 1, most: 1, run: lifetime(time.Millisecond), reads: true},
		"CAD":           {least: 2, most: 2, run: (*execution).cad, on: textKind},
		"CAS":           {least: 3, most: 5, run: (*execution).cas, on: textKind},
		"DELIFEQ":       {least: 2, most: 2, run: (*execution).compareDel, on: textKind},
		"DELEX":         {least: 1, most: 3, run: (*execution).delex},
		"COMPAREDEL":    {least: 2, most: 2, run: (*execution).compareDel, on: textKind},
		"COMPAREEXPIRE": {least: 3, most: 3, run: (*execution).compareExpire, on: textKind},
		"HSET":          {least: 3, most: -1, run: (*execution).hSet, check: pairs, on: hashKind},
		"HSETNX":        {least: 3, most: 3, run: (*execution).hSetNX, on: hashKind},
		"HGET":          {least: 2, most: 2, run: (*execution).hGet, on: hashKind, reads: true},
		"HDEL":          {least: 2, most: -1, run: (*execution).hDel, on: hashKind},
		"HEXISTS":       {least: 2, most: 2, run: (*execution).hExists, on: hashKind, reads: true},
		"HLEN":          {least: 1, most: 1, run: (*execution).hLen, on: hashKind, reads: true},
		"HINCRBY":       {least: 3, most: 3, run: (*execution).hIncrBy, check: increment, on: hashKind},
		"EVAL":          {least: 2, most: -1, run: (*execution).eval},
		"TIME":          {run: (*execution).time, reads: true},
		"PING":          {run: func(*execution) Reply { return Reply{Text: "PONG"} }, reads: true},
		"FLUSHALL":      {run: (*execution).flushAll},
		multi:           {least: 1, most: -1, run: (*execution).multi},
	}
}

// do executes one command at the time now of the server's wall clock.
func (d database) do(args []string, now time.Time) Reply {
	if len(args) == 0 {
		return failure(unknown([]string{""}))
	}
	cmd, err := lookUp(args)
	if err != nil {
		return failure(err)
	}
	if cmd.check != nil {
		if err := cmd.check(args[1:]); err != nil {
			return failure(err)
		}
	}
	x := &execution{database: d, args: args[1:], now: now}
	if len(x.args) > 0 {
		x.value, x.expires, x.exists = d.Keys.Get(x.args[0], now)
	}
	if cmd.on != anyKind && x.exists && isHash(x.value) != (cmd.on == hashKind) {
		return failure(errWrongType)
	}
	return cmd.run(x)
}

// execution is a command that is being executed.
type execution struct {
	database
	args []string
	now  time.Time
	// The first argument as a key.
	value   string
	expires time.Time
	exists  bool
}

func (x *execution) put(value string, expires time.Time) { x.Keys.Put(x.args[0], value, expires) }

func (x *execution) delete() bool { return x.Keys.Delete(x.args[0], x.now) }

func (x *execution) has(value string) bool { return x.exists && x.value == value }

// lookUp returns the command of args, if the number of arguments is right.
func lookUp(args []string) (command, error) {
	cmd, ok := commands[strings.ToUpper(args[0])]
	if !ok {
		return cmd, unknown(args)
	}
	if n := len(args) - 1; n < cmd.least || cmd.most >= 0 && n > cmd.most {
		return cmd, wrongNumber(args[0])
	}
	return cmd, nil
}

func wrongNumber(name string) error {
	return fmt.Errorf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}

func unknown(args []string) error {
	text := fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", args[0])
	for _, arg := range args[1:] {
		text += fmt.Sprintf("'%s' ", arg)
	}
	return errors.New(text)
}
