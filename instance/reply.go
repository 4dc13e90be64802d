package instance

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// replies are the raw replies of a transaction's commands. go-redis writes them here, which costs no
// allocation for each of them.
type replies struct{ raw []byte }

func (r *replies) Write(p []byte) (int, error) {
	r.raw = append(r.raw, p...)
	return len(p), nil
}

// parser reads replies element by element. Reading what isn't there sets bad.
type parser struct {
	rest []byte
	bad  bool
}

// line reads a line: a type and what follows it.
func (p *parser) line() []byte {
	line, rest, ok := bytes.Cut(p.rest, []byte("\r\n"))
	if !ok || len(line) == 0 {
		p.bad = true
		return []byte{0}
	}
	p.rest = rest
	return line
}

// number reads the number after a line's type.
func (p *parser) number(line []byte) int64 {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil {
		p.bad = true
		return 0
	}
	return n
}

// array reads the head of an array and returns the number of its elements.
func (p *parser) array() int64 {
	line := p.line()
	p.bad = p.bad || line[0] != '*'
	return p.number(line)
}

// failure reads the next element if it is an error.
func (p *parser) failure() (text string, failed bool) {
	if len(p.rest) == 0 || p.rest[0] != '-' {
		return "", false
	}
	return readable(p.line()[1:]), true
}

// text reads a string of any kind, without a copy. ok is false for a nil.
func (p *parser) text() (text []byte, ok bool) {
	line := p.line()
	switch line[0] {
	case '+':
		return line[1:], true
	case '$':
		n := p.number(line)
		if n < 0 || p.bad {
			return nil, false
		}
		if int64(len(p.rest)) < n+2 {
			p.bad = true
			return nil, false
		}
		text, p.rest = p.rest[:n:n], p.rest[n+2:]
		return text, true
	}
	p.bad = true
	return nil, false
}

// integer reads an integer.
func (p *parser) integer() int64 {
	line := p.line()
	p.bad = p.bad || line[0] != ':'
	return p.number(line)
}

// clock reads TIME's reply.
func (p *parser) clock() time.Time {
	p.bad = p.bad || p.array() != 2
	sec, _ := p.text()
	usec, _ := p.text()
	s, err1 := strconv.ParseInt(string(sec), 10, 64)
	us, err2 := strconv.ParseInt(string(usec), 10, 64)
	if err1 != nil || err2 != nil {
		p.bad = true
		return time.Time{}
	}
	return time.Unix(s, us*1000)
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

// list reads the elements of a script's reply.
type list []any

// number is an integer element, 0 if there is none.
func (l list) number(i int) int64 {
	if i >= len(l) {
		return 0
	}
	n, _ := l[i].(int64)
	return n
}

// first is the first element, if it is an integer.
func (l list) first() (n int64, ok bool) {
	if len(l) == 0 {
		return 0, false
	}
	n, ok = l[0].(int64)
	return n, ok
}

// text is a string element, "" if there is none.
func (l list) text(i int) string {
	if i >= len(l) {
		return ""
	}
	s, _ := l[i].(string)
	return s
}

// field is a field of INFO, "" if there is none.
func field(info, name string) string {
	_, rest, found := strings.Cut(info, "\r\n"+name+":")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return readable([]byte(value))
}
