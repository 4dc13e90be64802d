package redismodel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ttl is expiry for a key that is set, which has to live for a while.
func ttl(name, text string, unit time.Duration, absolute bool, now time.Time) (time.Time, error) {
	expires, err := expiry(name, text, unit, absolute, now)
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
	n = max(n, -limit) // in the past all the same
	if absolute {
		return time.Unix(0, n*int64(unit)).UTC(), nil
	}
	return now.Add(time.Duration(n) * unit), nil
}

func (x *execution) set() Reply {
	var nx, xx bool
	var unit, number string // EX, PX or PXAT, and what comes after it
	for rest := x.args[2:]; len(rest) > 0; rest = rest[1:] {
		option := strings.ToUpper(rest[0])
		switch {
		case option == "NX":
			nx = true
		case option == "XX":
			xx = true
		case slices.Contains([]string{"EX", "PX", "PXAT"}, option) && len(rest) > 1 && (unit == "" || unit == option): // it may be repeated
			unit, number, rest = option, rest[1], rest[1:]
		default:
			return failure(errSyntax)
		}
	}
	if nx && xx {
		return failure(errSyntax)
	}
	// As in Redis, the time is checked after all options are valid.
	var expires time.Time
	var err error
	switch unit {
	case "EX":
		expires, err = ttl("set", number, time.Second, false, x.now)
	case "PX", "PXAT":
		expires, err = ttl("set", number, time.Millisecond, unit == "PXAT", x.now)
	}
	switch {
	case err != nil:
		return failure(err)
	case nx && x.exists || xx && !x.exists:
		return Reply{Null: true}
	}
	x.put(x.args[1], expires)
	return okReply
}

func (x *execution) setNX() Reply {
	if !x.exists {
		x.put(x.args[1], time.Time{})
	}
	return truth(!x.exists)
}

func (x *execution) setEX() Reply {
	expires, err := ttl("setex", x.args[1], time.Second, false, x.now)
	if err != nil {
		return failure(err)
	}
	x.put(x.args[2], expires)
	return okReply
}

func (x *execution) get() Reply { return Reply{Text: x.value, Null: !x.exists} }

func (x *execution) del() Reply { return truth(x.delete()) }

func (x *execution) incr() Reply {
	n := int64(0)
	if x.exists {
		var err error
		if n, err = strconv.ParseInt(x.value, 10, 64); err != nil || strconv.FormatInt(n, 10) != x.value {
			return failure(errNotInteger)
		}
	}
	if n == math.MaxInt64 {
		return failure(errOverflow)
	}
	x.put(strconv.FormatInt(n+1, 10), x.expires)
	return number(n + 1)
}

// expirer makes EXPIRE and its relatives, which set the key's expiry. One in the past deletes the key.
func expirer(name string, unit time.Duration, absolute bool) func(*execution) Reply {
	return func(x *execution) Reply {
		expires, err := expiry(name, x.args[1], unit, absolute, x.now)
		switch {
		case err != nil:
			return failure(err)
		case !x.exists:
			return number(0)
		case !expires.After(x.now):
			return truth(x.delete())
		}
		x.put(x.value, expires)
		return number(1)
	}
}

// cad and cas are Tair's: they return -1 for a missing key.
func (x *execution) cad() Reply {
	if !x.exists {
		return number(-1)
	}
	return truth(x.has(x.args[1]) && x.delete())
}

func (x *execution) cas() Reply {
	expires, err := expiry("cas", x.args[4], time.Millisecond, false, x.now)
	if err != nil || !expires.After(x.now) || !strings.EqualFold(x.args[3], "PX") {
		return failure(errSyntax)
	}
	if !x.exists {
		return number(-1)
	}
	if x.has(x.args[1]) {
		x.put(x.args[2], expires)
	}
	return truth(x.has(x.args[1]))
}
