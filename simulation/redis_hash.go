package simulation

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A hash is kept as a text, so that it expires, is dropped and is copied as all keys
// are: this, and its fields as JSON.
const hashPrefix = "\x00hash "

var errHashValue = errors.New("ERR hash value is not an integer")

func isHash(value string) bool { return strings.HasPrefix(value, hashPrefix) }

// hash gives a key's fields, none if it doesn't exist, and its end.
func (d database) hash(key string, now time.Time) (fields map[string]string, expires time.Time) {
	fields = map[string]string{}
	value, expires, exists := d.Keys.Get(key, now)
	if exists {
		// What putHash wrote can be read.
		_ = json.Unmarshal([]byte(value[len(hashPrefix):]), &fields)
	}
	return fields, expires
}

// putHash sets a key's fields. A hash without fields doesn't exist.
func (d database) putHash(key string, fields map[string]string, expires, now time.Time) {
	if len(fields) == 0 {
		d.Keys.Delete(key, now)
		return
	}
	text, _ := json.Marshal(fields) // a map of texts always can be
	d.Keys.Put(key, hashPrefix+string(text), expires)
}

// pairs looks at HSET's arguments.
func pairs(args []string) error {
	if len(args)%2 == 0 {
		return wrongNumber("hset")
	}
	return nil
}

// increment looks at HINCRBY's arguments.
func increment(args []string) error {
	if _, err := strconv.ParseInt(args[2], 10, 64); err != nil {
		return errNotInteger
	}
	return nil
}

func (d database) hSet(args []string, now time.Time) Reply {
	fields, expires := d.hash(args[0], now)
	before := len(fields)
	for i := 1; i < len(args); i += 2 {
		fields[args[i]] = args[i+1]
	}
	d.putHash(args[0], fields, expires, now)
	return number(int64(len(fields) - before))
}

func (d database) hSetNX(args []string, now time.Time) Reply {
	if fields, _ := d.hash(args[0], now); has(fields, args[1]) {
		return number(0)
	}
	return d.hSet(args, now)
}

func has(fields map[string]string, field string) bool {
	_, ok := fields[field]
	return ok
}

func (d database) hGet(args []string, now time.Time) Reply {
	fields, _ := d.hash(args[0], now)
	return Reply{Text: fields[args[1]], Null: !has(fields, args[1])}
}

func (d database) hDel(args []string, now time.Time) Reply {
	fields, expires := d.hash(args[0], now)
	before := len(fields)
	for _, field := range args[1:] {
		delete(fields, field)
	}
	d.putHash(args[0], fields, expires, now)
	return number(int64(before - len(fields)))
}

func (d database) hExists(args []string, now time.Time) Reply {
	fields, _ := d.hash(args[0], now)
	return truth(has(fields, args[1]))
}

func (d database) hLen(args []string, now time.Time) Reply {
	fields, _ := d.hash(args[0], now)
	return number(int64(len(fields)))
}

func (d database) hIncrBy(args []string, now time.Time) Reply {
	by, _ := strconv.ParseInt(args[2], 10, 64) // increment has looked
	fields, expires := d.hash(args[0], now)
	n := int64(0)
	if has(fields, args[1]) {
		var err error
		if n, err = strconv.ParseInt(fields[args[1]], 10, 64); err != nil || strconv.FormatInt(n, 10) != fields[args[1]] {
			return failure(errHashValue)
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return failure(errOverflow)
	}
	fields[args[1]] = strconv.FormatInt(n+by, 10)
	d.putHash(args[0], fields, expires, now)
	return number(n + by)
}
