package instance

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// form says whether the first line of an answer can belong to a command.
type form func(line []byte) bool

func isStatus(line []byte) bool  { return isNull(line) || string(line) == "+OK" }
func isInteger(line []byte) bool { return line[0] == ':' }
func isPair(line []byte) bool    { return string(line) == "*2" }
func isText(line []byte) bool    { return line[0] == '$' || line[0] == '=' }
func isTable(line []byte) bool   { return line[0] == '*' || line[0] == '%' }
func isNull(line []byte) bool {
	return string(line) == "$-1" || string(line) == "_" || string(line) == "*-1"
}

// sink takes one answer from go-redis as it comes over the wire, and looks at it
// while go-redis still holds the connection: an error from a sink makes it close
// the connection, which nothing else that a caller can do does.
type sink struct {
	// form is what the first line must be.
	form form
	// prefix is what the answer must start with, if anything: the shape of a
	// script's answer and the call's nonce.
	prefix []byte
	// limit is the longest answer that is taken, in bytes.
	limit int

	raw []byte
}

// errAnswered closes a connection over which a whole answer came: the sink has it.
var errAnswered = fmt.Errorf("instance: the server answered, and the connection is given up")

func (s *sink) Write(p []byte) (int, error) {
	first := len(s.raw) == 0
	if len(s.raw)+len(p) > s.limit {
		return 0, fmt.Errorf("%w: an answer of more than %d bytes", ErrReply, s.limit)
	}
	s.raw = append(s.raw, p...)
	if s.raw[0] == '-' || s.raw[0] == '!' {
		if first && (bytes.HasPrefix(p, []byte("-READONLY")) || bytes.HasPrefix(p, []byte("-"+otherRun))) {
			// The name may lead to another server by now, and new connections to that.
			return 0, errAnswered
		}
		return len(p), nil
	}
	if first && s.form != nil && !s.form(p) {
		return 0, fmt.Errorf("%w: it starts with %.40q", ErrReply, p)
	}
	//guard:answer-has-nonce  the answer to another command is recognised
	if n := min(len(s.prefix), len(s.raw)); !bytes.Equal(s.raw[:n], s.prefix[:n]) {
		return 0, fmt.Errorf("%w: it answers another question, %.60q", ErrReply, s.raw)
	}
	return len(p), nil
}

// ReadFrom takes a text of the answer without a buffer in between.
func (s *sink) ReadFrom(rd io.Reader) (int64, error) {
	limited, ok := rd.(*io.LimitedReader)
	if !ok {
		return 0, fmt.Errorf("%w: its length is unknown", ErrReply)
	}
	if limited.N < 0 || limited.N > int64(s.limit-len(s.raw)) {
		return 0, fmt.Errorf("%w: an answer of more than %d bytes", ErrReply, s.limit)
	}
	start, want := len(s.raw), int(limited.N)
	s.raw = append(s.raw, make([]byte, want)...)
	n, err := io.ReadFull(rd, s.raw[start:])
	s.raw = s.raw[:start+n]
	if err != nil {
		return int64(n), err
	}
	_, err = s.Write(nil) // look at it
	return int64(n), err
}

// failure gives the text of an error answer.
func (s *sink) failure() (text string, ok bool) {
	if len(s.raw) == 0 || s.raw[0] != '-' && s.raw[0] != '!' {
		return "", false
	}
	line, rest, _ := bytes.Cut(s.raw[1:], []byte("\r\n"))
	if s.raw[0] == '!' {
		line = bytes.TrimSuffix(rest, []byte("\r\n"))
	}
	return readable(line), true
}

// readable gives an error's text, quoted if it is none that can be printed.
func readable(text []byte) string {
	text = bytes.TrimSpace(text)
	if !utf8.Valid(text) || bytes.ContainsFunc(text, unicode.IsControl) {
		return strconv.Quote(string(text))
	}
	return string(text)
}

// reply reads an answer element by element. Reading what isn't there sets bad.
type reply struct {
	rest []byte
	bad  bool
}

func (r *reply) line() []byte {
	line, rest, ok := bytes.Cut(r.rest, []byte("\r\n"))
	if !ok || len(line) == 0 {
		r.bad = true
		return []byte{0}
	}
	r.rest = rest
	return line
}

// length reads the number behind a line's type.
func (r *reply) length(line []byte) int {
	n, err := strconv.ParseInt(string(line[1:]), 10, 32)
	if err != nil || n < -1 {
		r.bad = true
		return 0
	}
	return int(n)
}

// array reads an array's or a map's head and gives the number of elements.
func (r *reply) array() int {
	line := r.line()
	switch line[0] {
	case '*', '~', '>':
		return max(r.length(line), 0)
	case '%':
		return 2 * max(r.length(line), 0)
	}
	if line[0] != '_' {
		r.bad = true
	}
	return 0
}

// text reads a string of any kind. It is a part of the answer, not a copy.
func (r *reply) text() []byte {
	line := r.line()
	switch line[0] {
	case '+':
		return line[1:]
	case '_':
		return nil
	case '$', '=':
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
		if line[0] == '=' && n >= 4 {
			text = text[4:] // "txt:"
		}
		return text
	}
	r.bad = true
	return nil
}

// integer reads a whole number.
func (r *reply) integer() int64 {
	line := r.line()
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if line[0] != ':' || err != nil {
		r.bad = true
		return 0
	}
	return n
}

// number reads a number that was sent as a text.
func (r *reply) number() int64 {
	n, err := strconv.ParseInt(string(r.text()), 10, 64)
	if err != nil {
		r.bad = true
		return 0
	}
	return n
}

// instant makes a time of the two numbers of TIME.
func (r *reply) instant(sec, usec int64) time.Time {
	if sec < 0 || sec > 1<<40 || usec < 0 || usec >= 1e6 {
		r.bad = true
	}
	if r.bad {
		return time.Time{}
	}
	return time.Unix(sec, usec*1000)
}

// clock reads the two texts of TIME's answer.
func (r *reply) clock() time.Time { return r.instant(r.number(), r.number()) }

// skip passes over one element of any kind and reports whether it was null.
// depth bounds the recursion: no server nests deeper than COMMAND INFO does.
func (r *reply) skip(depth int) (null bool) {
	line := r.line()
	switch line[0] {
	case '$', '=', '!':
		n := r.length(line)
		if n < 0 {
			return true
		}
		if len(r.rest) < n+2 {
			r.bad = true
			return false
		}
		r.rest = r.rest[n+2:]
	case '*', '~', '>', '%':
		n := r.length(line)
		if n < 0 {
			return true
		}
		if line[0] == '%' {
			n *= 2
		}
		if depth == 0 {
			r.bad = true
		}
		for i := 0; i < n && !r.bad; i++ {
			r.skip(depth - 1)
		}
	case '_':
		return true
	case '+', '-', ':', ',', '#', '(':
	default:
		r.bad = true
	}
	return false
}

// end reports whether all was read, and could be.
func (r *reply) end() bool { return !r.bad && len(r.rest) == 0 }

// answer is what a script says.
type answer struct {
	outcome int64
	text    []byte // the holder, or the set
	ttl     int64  // PTTL
	token   int64
	clock   time.Time
}

// The outcomes in a script's answer.
const (
	scriptRefused = iota
	scriptGranted
	scriptOtherSet
	scriptReplaced
)

// decodeScript reads a script's answer. ok is false for what no script says.
func decodeScript(raw []byte) (a answer, ok bool) {
	r := reply{rest: raw}
	if r.array() != scriptElements {
		return answer{}, false
	}
	r.integer() // the nonce: the sink has seen to it
	a.outcome, a.text, a.ttl, a.token = r.integer(), r.text(), r.integer(), r.integer()
	a.clock = r.instant(r.integer(), r.integer())
	if !r.end() || a.outcome < scriptRefused || a.outcome > scriptReplaced || a.token < 0 {
		return answer{}, false
	}
	return a, true
}

// scriptElements is the length of a script's answer.
const scriptElements = 7

// list reads the answer of a script that took many locks, see acquire.lua and
// release.lua.
type list struct {
	reply
	clock time.Time
}

// listHead is how many elements come before the locks': the nonce, and from an acquire
// the clock.
func listHead(acquire bool) int {
	if acquire {
		return 2
	}
	return 1
}

// head reads what comes before the n locks' elements.
func (l *list) head(n int, acquire bool) {
	if l.array() != listHead(acquire)+n {
		l.bad = true
	}
	l.text() // the nonce: the sink has seen to it
	if acquire {
		micros := l.integer()
		l.clock = l.instant(micros/1e6, micros%1e6)
	}
}

// next reads one lock's element: its answer, or the text of its error. ok is false
// for what no script says.
func (l *list) next(acquire bool) (a answer, failure string, ok bool) {
	if len(l.rest) == 0 {
		l.bad = true
	}
	if l.bad {
		return answer{}, "", false
	}
	if l.rest[0] != ':' {
		text := l.text()
		switch {
		case l.bad || len(text) == 0:
		case text[0] == 'E' && len(text) > 1:
			// Servers before 7.0 have the dash in it.
			return answer{}, readable(bytes.TrimPrefix(text[1:], []byte("-"))), true
		case text[0] == 'S' && acquire:
			return answer{outcome: scriptOtherSet, text: text[1:]}, "", true
		}
		l.bad = true
		return answer{}, "", false
	}
	switch n := l.integer(); {
	case l.bad:
	case n > 0 && acquire:
		return answer{outcome: scriptGranted, token: n}, "", true
	case n < 0 && acquire:
		return answer{outcome: scriptRefused, ttl: -3 - n}, "", true
	case n >= 0 && n <= 3 && !acquire:
		return answer{outcome: n % 2, token: n / 2}, "", true // 1 is scriptGranted
	}
	l.bad = true
	return answer{}, "", false
}
