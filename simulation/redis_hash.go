package simulation

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// A hash is stored as a string, so that it expires and is dropped and copied like other
// keys: this prefix, and its fields as JSON.
const hashPrefix = "\x00hash "

var errHashValue = errors.New("ERR hash value is not an integer")

func isHash(value string) bool { return strings.HasPrefix(value, hashPrefix) }

// fields returns the key's fields, none if it doesn't exist.
func (x *execution) fields() map[string]string {
	fields := map[string]string{}
	if x.exists {
		// putFields wrote it, so there is no error.
		_ = json.Unmarshal([]byte(x.value[len(hashPrefix):]), &fields)
	}
	return fields
}

// putFields sets the key's fields. A hash without fields doesn't exist.
func (x *execution) putFields(fields map[string]string) {
	if len(fields) == 0 {
		x.delete()
		return
	}
	text, _ := json.Marshal(fields) // a map of strings has no error
	x.put(hashPrefix+string(text), x.expires)
}

// pairs checks HSET's arguments.
func pairs(args []string) error {
	if len(args)%2 == 0 {
		return wrongNumber("hset")
	}
	return nil
}

// increment checks HINCRBY's arguments.
func increment(args []string) error {
	if _, err := strconv.ParseInt(args[2], 10, 64); err != nil {
		return errNotInteger
	}
	return nil
}

func (x *execution) hSet() Reply {
	fields := x.fields()
	before := len(fields)
	for i := 1; i < len(x.args); i += 2 {
		fields[x.args[i]] = x.args[i+1]
	}
	x.putFields(fields)
	return number(int64(len(fields) - before))
}

func (x *execution) hSetNX() Reply {
	if _, ok := x.fields()[x.args[1]]; ok {
		return number(0)
	}
	return x.hSet()
}

func (x *execution) hGet() Reply {
	value, ok := x.fields()[x.args[1]]
	return Reply{Text: value, Null: !ok}
}

func (x *execution) hDel() Reply {
	fields := x.fields()
	before := len(fields)
	for _, field := range x.args[1:] {
		delete(fields, field)
	}
	x.putFields(fields)
	return number(int64(before - len(fields)))
}

func (x *execution) hExists() Reply {
	_, ok := x.fields()[x.args[1]]
	return truth(ok)
}

func (x *execution) hLen() Reply { return number(int64(len(x.fields()))) }

func (x *execution) hIncrBy() Reply {
	by, _ := strconv.ParseInt(x.args[2], 10, 64) // increment has checked it
	fields := x.fields()
	n := int64(0)
	if text, ok := fields[x.args[1]]; ok {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil || strconv.FormatInt(n, 10) != text {
			return failure(errHashValue)
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return failure(errOverflow)
	}
	fields[x.args[1]] = strconv.FormatInt(n+by, 10)
	x.putFields(fields)
	return number(n + by)
}
