package instance

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// parser reads replies element by element. Reading what isn't there sets bad, for good.
type parser struct {
	rest []byte
	bad  bool
	err  error // the connection's, after which nothing more came
}

// why is the error of a reply that can't be read.
func (p *parser) why() error {
	if p.err != nil {
		return explain(p.err)
	}
	return fmt.Errorf("%w: the next bytes are %.60q", ErrReply, p.rest)
}

// line reads a line: a type and what follows it.
func (p *parser) line() []byte {
	line, rest, ok := bytes.Cut(p.rest, []byte("\r\n"))
	if p.bad = p.bad || !ok || len(line) == 0; p.bad {
		return []byte{0}
	}
	p.rest = rest
	return line
}

// number reads the number in a line of a type.
func (p *parser) number(kind byte, line []byte) int64 {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if p.bad = p.bad || line[0] != kind || err != nil; p.bad {
		return 0
	}
	return n
}

// array reads the head of an array and returns the number of its elements.
func (p *parser) array() int64 { return p.number('*', p.line()) }

// integer reads an integer.
func (p *parser) integer() int64 { return p.number(':', p.line()) }

// failure reads the next element if it is an error.
func (p *parser) failure() (text string, failed bool) {
	if p.bad || len(p.rest) == 0 || p.rest[0] != '-' {
		return "", false
	}
	return readable(p.line()[1:]), true
}

// text reads a string of any kind, without a copy. ok is false for a nil.
func (p *parser) text() (text []byte, ok bool) {
	line := p.line()
	if line[0] == '+' {
		return line[1:], true
	}
	n := p.number('$', line)
	if n < 0 || p.bad {
		return nil, false
	}
	if p.bad = int64(len(p.rest)) < n+2; p.bad {
		return nil, false
	}
	text, p.rest = p.rest[:n:n], p.rest[n+2:]
	return text, true
}

// clock reads TIME's reply.
func (p *parser) clock() time.Time {
	p.array()
	sec, _ := p.text()
	usec, _ := p.text()
	s, err1 := strconv.ParseInt(string(sec), 10, 64)
	us, err2 := strconv.ParseInt(string(usec), 10, 64)
	if p.bad = p.bad || err1 != nil || err2 != nil; p.bad {
		return time.Time{}
	}
	return time.Unix(s, us*1000)
}

// readable returns a text of the server's, quoted if it can't be printed: a terminal would execute it.
func readable(text []byte) string {
	text = bytes.TrimSpace(text)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.Valid(text) || bytes.ContainsFunc(text, unprintable) {
		return strconv.Quote(string(text))
	}
	return string(text)
}

// field is a field of INFO, empty if there is none.
func field(info []byte, name string) []byte {
	_, rest, _ := bytes.Cut(info, []byte("\r\n"+name+":"))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return value
}
