package instance

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// firstLine reports whether the first line of a reply can belong to a command.
type firstLine func(line []byte) bool

func isInteger(line []byte) bool { return line[0] == ':' }
func isPair(line []byte) bool    { return string(line) == "*2" }
func isText(line []byte) bool    { return line[0] == '$' }
func isTable(line []byte) bool   { return line[0] == '*' }

// replyBuffer receives one reply from go-redis as it comes over the wire, and checks it
// while go-redis still holds the connection. An error from it makes go-redis close the
// connection, which nothing else that a caller can do does.
type replyBuffer struct {
	// first checks the first line, if set.
	first firstLine
	// prefix is what the reply must begin with: the head of a script's reply, with the
	// nonce.
	prefix []byte
	// limit is the longest reply that is taken, in bytes.
	limit int

	raw []byte
}

// errReplied closes a connection after a complete reply, which the replyBuffer has.
var errReplied = fmt.Errorf("instance: the server answered, and the connection is given up")

func (s *replyBuffer) Write(p []byte) (int, error) {
	first := len(s.raw) == 0
	if len(s.raw)+len(p) > s.limit {
		return 0, fmt.Errorf("%w: a reply of more than %d bytes", ErrReply, s.limit)
	}
	s.raw = append(s.raw, p...)
	if s.raw[0] == '-' {
		if first && isFromAnother(string(p[1:])) {
			return 0, errReplied
		}
		return len(p), nil
	}
	if first && s.first != nil && !s.first(p) {
		return 0, fmt.Errorf("%w: it starts with %.40q", ErrReply, p)
	}
	//guard:answer-has-nonce  the answer to another command is recognised
	if n := min(len(s.prefix), len(s.raw)); !bytes.Equal(s.raw[:n], s.prefix[:n]) {
		return 0, fmt.Errorf("%w: it answers another command, %.60q", ErrReply, s.raw)
	}
	return len(p), nil
}

// isFromAnother reports whether an error shows that the name may lead to another server by now,
// and new connections to that.
func isFromAnother(text string) bool {
	return strings.HasPrefix(text, "READONLY") || strings.HasPrefix(text, otherRun)
}

// ReadFrom reads a bulk string of the reply without a buffer in between.
func (s *replyBuffer) ReadFrom(rd io.Reader) (int64, error) {
	limited, ok := rd.(*io.LimitedReader)
	if !ok {
		return 0, fmt.Errorf("%w: its length is unknown", ErrReply)
	}
	if limited.N < 0 || limited.N > int64(s.limit-len(s.raw)) {
		return 0, fmt.Errorf("%w: a reply of more than %d bytes", ErrReply, s.limit)
	}
	start, want := len(s.raw), int(limited.N)
	s.raw = append(s.raw, make([]byte, want)...)
	n, err := io.ReadFull(rd, s.raw[start:])
	s.raw = s.raw[:start+n]
	if err != nil {
		return int64(n), err
	}
	_, err = s.Write(nil) // checks it
	return int64(n), err
}

// failure returns the text of an error reply.
func (s *replyBuffer) failure() (text string, ok bool) {
	if len(s.raw) == 0 || s.raw[0] != '-' {
		return "", false
	}
	line, _, _ := bytes.Cut(s.raw[1:], []byte("\r\n"))
	return readable(line), true
}

// readable returns a text of the server's, quoted if it can't be printed: a terminal would execute it.
func readable(text []byte) string {
	text = bytes.TrimSpace(text)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	//guard:server-texts-printable  what a server writes doesn't control a terminal
	if !utf8.Valid(text) || bytes.ContainsFunc(text, unprintable) {
		return strconv.Quote(string(text))
	}
	return string(text)
}

// parser reads a reply element by element. Reading what isn't there sets bad.
type parser struct {
	rest []byte
	bad  bool
}

func (r *parser) line() []byte {
	line, rest, ok := bytes.Cut(r.rest, []byte("\r\n"))
	if !ok || len(line) == 0 {
		r.bad = true
		return []byte{0}
	}
	r.rest = rest
	return line
}

// length reads the number after a line's type.
func (r *parser) length(line []byte) int {
	n, err := strconv.ParseInt(string(line[1:]), 10, 32)
	if err != nil || n < -1 {
		r.bad = true
		return 0
	}
	return int(n)
}

// array reads the head of an array and returns the number of elements.
func (r *parser) array() int {
	line := r.line()
	r.bad = r.bad || line[0] != '*'
	return max(r.length(line), 0)
}

// text reads a string of any kind. The result is a part of the reply, not a copy.
func (r *parser) text() []byte {
	line := r.line()
	switch line[0] {
	case '+':
		return line[1:]
	case '$':
		n := r.length(line)
		if n < 0 {
			return nil
		}
		if len(r.rest) < n+2 || r.rest[n] != '\r' || r.rest[n+1] != '\n' {
			r.bad = true
			return nil
		}
		text := r.rest[:n:n]
		r.rest = r.rest[n+2:]
		return text
	}
	r.bad = true
	return nil
}

// value reads an element of any kind: an int64, a string, or a list of these.
func (r *parser) value(depth int) any {
	switch {
	case r.bad || len(r.rest) == 0 || depth > 8:
		r.bad = true
		return nil
	case r.rest[0] == '*':
		n, list := r.array(), []any{}
		for i := 0; i < n && !r.bad; i++ {
			list = append(list, r.value(depth+1))
		}
		return list
	case r.rest[0] == ':':
		return r.integer()
	}
	return string(r.text())
}

// integer reads an integer.
func (r *parser) integer() int64 {
	line := r.line()
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if line[0] != ':' || err != nil {
		r.bad = true
		return 0
	}
	return n
}

// number reads a number that was sent as a string.
func (r *parser) number() int64 {
	n, err := strconv.ParseInt(string(r.text()), 10, 64)
	if err != nil {
		r.bad = true
		return 0
	}
	return n
}

// instant makes a time of TIME's two numbers.
func (r *parser) instant(sec, usec int64) time.Time {
	if sec < 0 || sec > 1<<40 || usec < 0 || usec >= 1e6 {
		r.bad = true
	}
	if r.bad {
		return time.Time{}
	}
	return time.Unix(sec, usec*1000)
}

// clock reads the two strings of TIME's reply.
func (r *parser) clock() time.Time { return r.instant(r.number(), r.number()) }

// end reports whether the whole reply was read without an error.
func (r *parser) end() bool { return !r.bad && len(r.rest) == 0 }

// result is what a script answers to one request.
type result struct {
	outcome int64
	text    []byte // the holder's value, or the set
	ttl     int64  // PTTL, or the number of reserved tokens
	token   int64  // or the number of the key in the way
	clock   time.Time
}

// The outcomes in a script's reply.
const (
	scriptRefused = iota
	scriptGranted
	scriptOtherSet
	scriptReplaced
	scriptFailed // of one request in a list; the text is the error
)

// decodeScript reads a script's reply. ok is false if no script sends such a reply.
func decodeScript(raw []byte) (a result, ok bool) {
	r := parser{rest: raw}
	if r.array() != scriptElements {
		return result{}, false
	}
	r.integer() // the nonce: the replyBuffer has checked it
	a.outcome, a.text, a.ttl, a.token = r.integer(), r.text(), r.integer(), r.integer()
	a.clock = r.instant(r.integer(), r.integer())
	if !r.end() || a.outcome < scriptRefused || a.outcome > scriptGranted || a.token < 0 {
		return result{}, false
	}
	return a, true
}

// scriptElements is the length of a script's reply.
const scriptElements = 7

// list reads the reply of a script for many requests, see acquire.lua, extend.lua and
// release.lua.
type list struct {
	parser
	clock time.Time
}

// head reads the nonce and the clock, which come before the n elements.
func (l *list) head(n int) {
	if l.array() != listHead+n {
		l.bad = true
	}
	l.text() // the nonce: the replyBuffer has checked it
	micros := l.integer()
	l.clock = l.instant(micros/1e6, micros%1e6)
}

// listHead is the number of elements before those of the requests.
const listHead = 2

// next reads one lock's element.
func (l *list) next(s *script) result {
	n := l.integer()
	if n < 0 || n > 3 || n > 1 && s != releaseScript {
		l.bad = true
	}
	return result{outcome: n % 2, token: n / 2, clock: l.clock} // 1 is scriptGranted
}

// acquisition reads one request's element of acquire.lua's reply, or the error in it.
func (l *list) acquisition() (a result, failure []byte) {
	a.clock = l.clock
	if len(l.rest) > 0 && l.rest[0] == ':' {
		a.outcome, a.token = scriptGranted, l.integer()
	} else {
		l.bad = l.bad || l.array() != 4
		a.outcome, a.text, a.ttl, a.token = l.integer(), l.text(), l.integer(), l.integer()
	}
	if a.outcome < scriptRefused || a.outcome > scriptFailed || a.token < 0 {
		l.bad = true
	}
	if a.outcome == scriptFailed {
		l.bad = l.bad || a.text == nil
		return a, a.text
	}
	return a, nil
}
