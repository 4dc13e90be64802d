package timeline

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// line is one line of a trace in its words: the time, who, what, and after these
// any number of words and named values in any order.
type line struct {
	number int
	at     time.Duration
	who    string
	words  []string
	fields map[string]string
	text   string // all after who
}

// split takes a line apart. It reports false for what doesn't begin with a time
// and a name.
func split(number int, text string) (line, bool) {
	clock, rest, ok := strings.Cut(text, " ")
	if !ok {
		return line{}, false
	}
	at, ok := moment(clock)
	if !ok {
		return line{}, false
	}
	who, what, _ := strings.Cut(rest, " ")
	if who == "" {
		return line{}, false
	}
	l := line{number: number, at: at, who: who, text: what, fields: map[string]string{}}
	for what != "" {
		var word string
		word, what = next(what)
		if name, value, named := strings.Cut(word, "="); named && plain(name) {
			l.fields[name] = unquote(value)
		} else if word != "" {
			l.words = append(l.words, unquote(word))
		}
	}
	return l, true
}

// moment reads a true time: milliseconds with six decimals.
func moment(s string) (time.Duration, bool) {
	whole, fraction, ok := strings.Cut(s, ".")
	if !ok || len(fraction) != 6 {
		return 0, false
	}
	ms, err := strconv.ParseUint(whole, 10, 63)
	ns, err2 := strconv.ParseUint(fraction, 10, 32)
	if err != nil || err2 != nil || ms > math.MaxInt64/2/uint64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms)*time.Millisecond + time.Duration(ns), true
}

// next cuts off the first word. A quoted part may hold blanks.
func next(s string) (word, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			return s[:i], s[i+1:]
		case '"':
			if quoted, err := strconv.QuotedPrefix(s[i:]); err == nil {
				i += len(quoted) - 1
			}
		}
	}
	return s, ""
}

func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

// plain reports whether a name is one that the trace gives to values.
func plain(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && r != '_' {
			return false
		}
	}
	return name != ""
}

func (l line) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

// from is the words from the i-th on, as a text.
func (l line) from(i int) string {
	if i >= len(l.words) {
		return ""
	}
	return strings.Join(l.words[i:], " ")
}

func (l line) has(name string) bool { _, ok := l.fields[name]; return ok }

// int is a named integer, 0 if it isn't there or isn't one.
func (l line) int(name string) int64 {
	n, err := strconv.ParseInt(l.fields[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// goroutine is which of its process's goroutines the line is about, 0 for the first.
func (l line) goroutine() int { return int(max(0, l.int("goroutine"))) }

func (l line) uint(name string) uint64 {
	n, err := strconv.ParseUint(l.fields[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// length is a named duration that isn't negative.
func (l line) length(name string) time.Duration { return time.Duration(max(0, l.int(name))) }

// until is a named true time. Never (-1, or a number beyond all traces) is the end
// of time.
func (l line) until(name string) (time.Duration, bool) {
	if !l.has(name) {
		return 0, false
	}
	n, err := strconv.ParseInt(l.fields[name], 10, 64)
	if err != nil { // "ever"
		return forever, true
	}
	if n < 0 || n > int64(forever) {
		return forever, true
	}
	return time.Duration(n), true
}

// forever is later than every time in a trace, with room to add to it.
const forever = time.Duration(math.MaxInt64 / 2)

// plus adds without overflow.
func plus(t, d time.Duration) time.Duration {
	if d > 0 && t > forever-d {
		return forever
	}
	return max(0, t+d)
}

// nth takes "A#3" apart.
func nth(word string) (place string, n uint64, ok bool) {
	place, digits, ok := strings.Cut(word, "#")
	if !ok || place == "" {
		return "", 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return place, n, err == nil
}
