package simulation

import (
	"errors"
	"fmt"
	"math"
	"strconv"
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

// command is one of the commands that a database carries out.
type command struct {
	// least and most bound the number of arguments after its name; most < 0 means no
	// limit.
	least, most int
	run         func(d database, args []string, now time.Time) Reply
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
		"SET":           {least: 2, most: -1, run: database.set},
		"SETNX":         {least: 2, most: 2, run: database.setNX},
		"SETEX":         {least: 3, most: 3, run: setter("setex", time.Second)},
		"PSETEX":        {least: 3, most: 3, run: setter("psetex", time.Millisecond)},
		"GET":           {least: 1, most: 1, run: database.get, on: textKind, reads: true},
		"GETDEL":        {least: 1, most: 1, run: database.getDel, on: textKind},
		"DEL":           {least: 1, most: -1, run: database.del},
		"EXISTS":        {least: 1, most: -1, run: database.exists, reads: true},
		"INCR":          {least: 1, most: 1, run: database.incr, on: textKind},
		"EXPIRE":        {least: 2, most: 2, run: expirer(time.Second, false)},
		"PEXPIRE":       {least: 2, most: 2, run: expirer(time.Millisecond, false)},
		"PEXPIREAT":     {least: 2, most: 2, run: expirer(time.Millisecond, true)},
		"PERSIST":       {least: 1, most: 1, run: database.persist},
		"TTL":           {least: 1, most: 1, run: lifetime(time.Second), reads: true},
		"PTTL":          {least: 1, most: 1, run: lifetime(time.Millisecond), reads: true},
		"CAD":           {least: 2, most: 2, run: database.cad, on: textKind},
		"CAS":           {least: 3, most: 5, run: database.cas, on: textKind},
		"DELEX":         {least: 1, most: 3, run: database.delex},
		"COMPAREDEL":    {least: 2, most: 2, run: database.compareDel, on: textKind},
		"COMPAREEXPIRE": {least: 3, most: 3, run: database.compareExpire, on: textKind},
		"HSET":          {least: 3, most: -1, run: database.hSet, check: pairs, on: hashKind},
		"HSETNX":        {least: 3, most: 3, run: database.hSetNX, on: hashKind},
		"HGET":          {least: 2, most: 2, run: database.hGet, on: hashKind, reads: true},
		"HDEL":          {least: 2, most: -1, run: database.hDel, on: hashKind},
		"HEXISTS":       {least: 2, most: 2, run: database.hExists, on: hashKind, reads: true},
		"HLEN":          {least: 1, most: 1, run: database.hLen, on: hashKind, reads: true},
		"HINCRBY":       {least: 3, most: 3, run: database.hIncrBy, check: increment, on: hashKind},
		"EVAL":          {least: 2, most: -1, run: database.eval},
		"TIME":          {run: database.time, reads: true},
		"PING":          {run: func(database, []string, time.Time) Reply { return Reply{Text: "PONG"} }, reads: true},
		"FLUSHALL":      {run: database.flushAll},
		multi:           {least: 1, most: -1, run: database.multi},
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
	if cmd.on != anyKind {
		if value, _, exists := d.Keys.Get(args[1], now); exists && isHash(value) != (cmd.on == hashKind) {
			return failure(errWrongType)
		}
	}
	return cmd.run(d, args[1:], now)
}

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

// conditions are SET's options.
type conditions struct {
	nx, xx, get, keepTTL, ifEq bool
	equal                      string
	timed                      bool
	unit, time                 string // EX, PX, EXAT or PXAT, and what comes after it
	expires                    time.Time
}

func parseConditions(name string, args []string, now time.Time) (c conditions, err error) {
	for i := 0; i < len(args); i++ {
		option := strings.ToUpper(args[i])
		switch option {
		case "NX":
			c.nx = true
		case "XX":
			c.xx = true
		case "GET":
			c.get = true
		case "KEEPTTL":
			c.keepTTL = true
		case "EX", "PX", "EXAT", "PXAT", "IFEQ":
			i++
			if i == len(args) || option != "IFEQ" && c.timed && c.unit != option { // the same again is let pass
				return c, errSyntax
			}
			if option == "IFEQ" {
				c.ifEq, c.equal = true, args[i]
				continue
			}
			c.timed, c.unit, c.time = true, option, args[i]
		default:
			return c, errSyntax
		}
	}
	if c.nx && (c.xx || c.ifEq) || c.xx && c.ifEq || c.keepTTL && c.timed {
		return c, errSyntax
	}
	if c.timed {
		c.expires, err = c.end(name, now)
	}
	return c, err
}

// end is the moment of expiry. As in Redis, it is checked after all options are valid.
func (c conditions) end(name string, now time.Time) (time.Time, error) {
	unit, absolute := time.Millisecond, strings.HasSuffix(c.unit, "AT")
	if c.unit[0] == 'E' {
		unit = time.Second
	}
	expires, err := expiry(name, c.time, unit, absolute, now)
	if err == nil && (!absolute && !expires.After(now) || expires.UnixMilli() <= 0) {
		err = invalidExpire(name)
	}
	return expires, err
}

func invalidExpire(name string) error {
	return fmt.Errorf("ERR invalid expire time in '%s' command", name)
}

// expiry converts a number of units from now, or from 1970, to a moment.
func expiry(name, text string, unit time.Duration, absolute bool, now time.Time) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, errNotInteger
	}
	// Redis counts in milliseconds; here they are nanoseconds, up to the year 2262.
	const latest = math.MaxInt64 / int64(time.Second) / 2
	limit := latest * int64(time.Second) / int64(unit)
	if n > limit || unit == time.Second && n < math.MinInt64/1000 {
		return time.Time{}, invalidExpire(name)
	}
	n = max(n, -limit) // long past, as far as anybody can tell
	if absolute {
		return time.Unix(0, n*int64(unit)).UTC(), nil
	}
	return now.Add(time.Duration(n) * unit), nil
}

func (d database) set(args []string, now time.Time) Reply {
	key, value := args[0], args[1]
	c, err := parseConditions("set", args[2:], now)
	if err != nil {
		return failure(err)
	}
	old, expires, exists := d.Keys.Get(key, now)
	if exists && isHash(old) && (c.get || c.ifEq) {
		return failure(errWrongType)
	}
	met := !(c.nx && exists || c.xx && !exists || c.ifEq && !(exists && old == c.equal))
	if met {
		switch {
		case !c.keepTTL:
			expires = c.expires
		case !exists:
			expires = time.Time{}
		}
		d.Keys.Put(key, value, expires)
	}
	switch {
	case c.get && exists:
		return Reply{Text: old}
	case c.get || !met:
		return Reply{Null: true}
	default:
		return okReply
	}
}

func (d database) setNX(args []string, now time.Time) Reply {
	_, _, exists := d.Keys.Get(args[0], now)
	if !exists {
		d.Keys.Put(args[0], args[1], time.Time{})
	}
	return truth(!exists)
}

// setter makes SETEX and PSETEX.
func setter(name string, unit time.Duration) func(database, []string, time.Time) Reply {
	return func(d database, args []string, now time.Time) Reply {
		expires, err := expiry(name, args[1], unit, false, now)
		if err == nil && !expires.After(now) {
			err = invalidExpire(name)
		}
		if err != nil {
			return failure(err)
		}
		d.Keys.Put(args[0], args[2], expires)
		return okReply
	}
}

func (d database) getDel(args []string, now time.Time) Reply {
	reply := d.get(args, now)
	d.Keys.Delete(args[0], now)
	return reply
}

func (d database) get(args []string, now time.Time) Reply {
	value, _, exists := d.Keys.Get(args[0], now)
	return Reply{Text: value, Null: !exists}
}

func (d database) del(args []string, now time.Time) Reply {
	n := int64(0)
	for _, key := range args {
		if d.Keys.Delete(key, now) {
			n++
		}
	}
	return number(n)
}

func (d database) exists(args []string, now time.Time) Reply {
	n := int64(0)
	for _, key := range args {
		if _, _, exists := d.Keys.Get(key, now); exists {
			n++
		}
	}
	return number(n)
}

func (d database) incr(args []string, now time.Time) Reply {
	value, expires, exists := d.Keys.Get(args[0], now)
	n := int64(0)
	if exists {
		var err error
		if n, err = strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(n, 10) != value {
			return failure(errNotInteger)
		}
	}
	if n == math.MaxInt64 {
		return failure(errOverflow)
	}
	d.Keys.Put(args[0], strconv.FormatInt(n+1, 10), expires)
	return number(n + 1)
}

// expirer makes EXPIRE and its relatives.
func expirer(unit time.Duration, absolute bool) func(database, []string, time.Time) Reply {
	name := map[bool]string{true: "pexpire", false: "expire"}[unit == time.Millisecond]
	if absolute {
		name += "at"
	}
	return func(d database, args []string, now time.Time) Reply {
		expires, err := expiry(name, args[1], unit, absolute, now)
		if err != nil {
			return failure(err)
		}
		return truth(d.expire(args[0], expires, now))
	}
}

// expire sets a key's expiry; one in the past deletes it.
func (d database) expire(key string, expires, now time.Time) bool {
	value, _, exists := d.Keys.Get(key, now)
	switch {
	case !exists:
		return false
	case !expires.After(now):
		return d.Keys.Delete(key, now)
	}
	d.Keys.Put(key, value, expires)
	return true
}

func (d database) persist(args []string, now time.Time) Reply {
	value, expires, exists := d.Keys.Get(args[0], now)
	if !exists || expires.IsZero() {
		return number(0)
	}
	d.Keys.Put(args[0], value, time.Time{})
	return number(1)
}

// lifetime makes TTL and PTTL.
func lifetime(unit time.Duration) func(database, []string, time.Time) Reply {
	return func(d database, args []string, now time.Time) Reply {
		_, expires, exists := d.Keys.Get(args[0], now)
		switch {
		case !exists:
			return number(-2)
		case expires.IsZero():
			return number(-1)
		}
		// A key that exists has at least one millisecond left; seconds are rounded.
		left := (expires.Sub(now) + time.Millisecond - 1) / time.Millisecond
		if unit == time.Second {
			return number(int64((left + 500) / 1000))
		}
		return number(int64(left))
	}
}

func (d database) has(key, value string, now time.Time) (has, exists bool) {
	held, _, exists := d.Keys.Get(key, now)
	return exists && held == value, exists
}

// cad and cas are Tair's: they return -1 for a missing key.
func (d database) cad(args []string, now time.Time) Reply {
	has, exists := d.has(args[0], args[1], now)
	if !exists {
		return number(-1)
	}
	return truth(has && d.Keys.Delete(args[0], now))
}

// cas removes the expiry unless it gets a new one, as in Tair.
func (d database) cas(args []string, now time.Time) Reply {
	var expires time.Time
	switch {
	case len(args) == 5 && (strings.EqualFold(args[3], "PX") || strings.EqualFold(args[3], "EX")):
		unit := time.Millisecond
		if strings.EqualFold(args[3], "EX") {
			unit = time.Second
		}
		var err error
		if expires, err = expiry("cas", args[4], unit, false, now); err != nil || !expires.After(now) {
			return failure(errSyntax)
		}
	case len(args) != 3:
		return failure(errSyntax)
	}
	has, exists := d.has(args[0], args[1], now)
	if !exists {
		return number(-1)
	}
	if has {
		d.Keys.Put(args[0], args[2], expires)
	}
	return truth(has)
}

// delex without a condition is DEL.
func (d database) delex(args []string, now time.Time) Reply {
	switch {
	case len(args) == 1:
		return truth(d.Keys.Delete(args[0], now))
	case len(args) != 3 || !strings.EqualFold(args[1], "IFEQ"):
		return failure(errSyntax)
	}
	return d.compareDel([]string{args[0], args[2]}, now)
}

func (d database) compareDel(args []string, now time.Time) Reply {
	has, _ := d.has(args[0], args[1], now)
	return truth(has && d.Keys.Delete(args[0], now))
}

func (d database) compareExpire(args []string, now time.Time) Reply {
	has, _ := d.has(args[0], args[1], now)
	if !has {
		return number(0)
	}
	expires, err := expiry("pexpire", args[2], time.Millisecond, false, now)
	if err != nil {
		return failure(err)
	}
	return truth(d.expire(args[0], expires, now))
}

func (d database) time(_ []string, now time.Time) Reply { return number(now.UnixMicro()) }

func (d database) flushAll([]string, time.Time) Reply {
	d.Flush()
	return okReply
}
