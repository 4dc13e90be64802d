package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync/atomic"
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
	sum := sha256.Sum256(t.text)
	return t.text, hex.EncodeToString(sum[:])
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

func (t *trace) end() {
	if !t.off {
		t.text = append(t.text, '\n')
	}
}
