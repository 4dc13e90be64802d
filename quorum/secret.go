package quorum

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"sync"
	"time"
)

// A lock's value is 40 random hexadecimal digits, ":" and a signature if there is one. The
// signature is Config.Owner, and a space and Terms.Note if there is one. An owner has no space, so
// the first one ends it. A client that knows no notes shows "owner note" as the owner.

func signature(owner, note string) string {
	if note == "" {
		return owner
	}
	return owner + " " + note
}

func writeValue(random, owner, note string) string {
	if signed := signature(owner, note); signed != "" {
		return random + ":" + signed
	}
	return random
}

// readValue takes a value apart. Other programs' values may give anything.
func readValue(value string) (random, owner, note string) {
	random, signed, _ := strings.Cut(value, ":")
	owner, note, _ = strings.Cut(signed, " ")
	return random, owner, note
}

// shortValue is a value with a short hash in place of its random digits: enough to tell values apart,
// and not to release the lock. readValue reads it.
func shortValue(value string) string {
	random, signed, found := strings.Cut(value, ":")
	h := fnv.New32a()
	_, _ = h.Write([]byte(random))
	short := fmt.Sprintf("%08x", h.Sum32())
	if !found {
		return short
	}
	return short + ":" + signed
}

// random draws the values of locks, and pauses, from Config.Lab.Random, which need not be safe for
// concurrent use. A random is.
type random struct {
	reader io.Reader

	mu    sync.Mutex
	drawn [20]byte // what was drawn last
}

// Read draws from the reader.
func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader.Read(p)
}

// digits draws 40 hexadecimal digits that were never drawn before.
func (r *random) digits() (string, error) {
	r.mu.Lock()
	//guard:value-per-round  each round draws a value of its own, so that a late delete of one can't hit the key of the next
	_, err := io.ReadFull(r.reader, r.drawn[:])
	raw := r.drawn
	r.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("quorum: Config.Lab.Random gave no randomness, without which two rounds could share a value: %w", err)
	}
	var digits [2 * len(raw)]byte
	hex.Encode(digits[:], raw[:])
	return string(digits[:]), nil
}

// jitter draws a pause from zero to bound, evenly. If the reader fails it returns bound,
// because the round after the pause reports the failure.
func (r *random) jitter(bound time.Duration) time.Duration {
	var raw [8]byte
	r.mu.Lock()
	_, err := io.ReadFull(r.reader, raw[:])
	r.mu.Unlock()
	if err != nil {
		return bound
	}
	var n uint64
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return time.Duration(n % uint64(bound+1))
}

// Redact shortens everything in a text that looks like a lock's value, or like a part of one: it
// keeps only the first 8 digits of each run of 16 or more hexadecimal digits. Knowing a value is
// enough to release the lock. Run IDs and the hashes of scripts look the same, and 8 digits are
// enough to tell them apart. A number of up to 19 decimal digits, such as a fencing token, stays.
//
// It is for hooks that log errors, because an instance's error may quote what was sent.
func Redact(text string) string {
	const (
		decimal, hexadecimal = "0123456789", "0123456789abcdefABCDEF"
		longestNumber, left  = 19, 8
		// A shorter run leaves more than 100 bits of a value unknown.
		shortest = 16
	)
	var redacted strings.Builder
	for text != "" {
		run := text[:len(text)-len(strings.TrimLeft(text, hexadecimal))]
		text = text[len(run):]
		if len(run) >= shortest && (len(run) > longestNumber || strings.Trim(run, decimal) != "") {
			run = run[:left] + "..."
		}
		next := strings.IndexAny(text, hexadecimal)
		if next < 0 {
			next = len(text)
		}
		redacted.WriteString(run)
		redacted.WriteString(text[:next])
		text = text[next:]
	}
	return redacted.String()
}
