package simulation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync/atomic"
	"time"
)

// trace is what happened, a line of text for each thing: the true time in
// milliseconds, who, and what. Two runs are the same if their traces are.
type trace struct {
	text []byte
	off  bool // nobody reads it
}

// usual is how long a trace usually is: memory for the next one. It says nothing of
// what is in it.
var usual atomic.Int64

// finish ends the trace, and gives it with its digest: the whole text's SHA-256.
func (t *trace) finish() (text []byte, digest string) {
	if t.off {
		return nil, ""
	}
	length := int64(len(t.text))
	usual.Store(max(length+length/8, usual.Load()-usual.Load()/16))
	return t.text, digestOf(t.text)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// at begins a line.
func (t *trace) at(now int64, who string) *trace {
	if t.off {
		return t
	}
	t.text = strconv.AppendInt(t.text, now/million, 10)
	// The digit before the fraction's six is a one, so that zeros are kept; the
	// point takes its place.
	point := len(t.text)
	t.text = strconv.AppendInt(t.text, now%million+million, 10)
	t.text[point] = '.'
	t.text = append(t.text, ' ')
	t.text = append(t.text, who...)
	return t
}

// s adds words to the line.
func (t *trace) s(words ...string) *trace {
	if t.off {
		return t
	}
	for _, word := range words {
		t.text = append(t.text, ' ')
		t.text = append(t.text, word...)
	}
	return t
}

// named adds a named word to the line.
func (t *trace) named(name, word string) *trace {
	if t.off {
		return t
	}
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '=')
	t.text = append(t.text, word...)
	return t
}

// nth adds the name of the n-th call of a process to one place.
func (t *trace) nth(name string, n uint64) *trace {
	if t.off {
		return t
	}
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '#')
	t.text = strconv.AppendUint(t.text, n, 10)
	return t
}

// n adds a named number to the line.
func (t *trace) n(name string, n int64) *trace {
	if t.off {
		return t
	}
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '=')
	t.text = strconv.AppendInt(t.text, n, 10)
	return t
}

// goroutine adds which of its process's goroutines a line is about, if it isn't the
// first.
func (t *trace) goroutine(n int) *trace {
	if n == 0 {
		return t
	}
	return t.n("goroutine", int64(n))
}

// violation adds the line of a violation.
func (t *trace) violation(v Violation) {
	line := t.at(int64(v.At), "VIOLATION").s(string(v.Kind))
	if v.Kind != Stuck && v.Kind != LeftOver && v.Kind != Panicked { // stacks differ from run to run
		line.s(v.Text)
	}
	line.end()
}

// upTo is how much of the text is about moments up to at.
func (t *trace) upTo(at time.Duration) int {
	n := 0
	for line := range bytes.Lines(t.text) {
		whole, rest, _ := bytes.Cut(line, []byte("."))
		fraction, _, _ := bytes.Cut(rest, []byte(" "))
		// A line that begins otherwise belongs to the one before it.
		if ns, err := strconv.ParseInt(string(whole)+string(fraction), 10, 64); err == nil && ns > int64(at) {
			break
		}
		n += len(line)
	}
	return n
}

func (t *trace) end() {
	if !t.off {
		t.text = append(t.text, '\n')
	}
}
