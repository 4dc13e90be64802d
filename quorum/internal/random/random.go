// Package random draws the values of locks and random pauses.
package random

import (
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"
)

// Source draws from a reader, which need not be safe for concurrent use. A Source is.
type Source struct {
	Reader io.Reader

	mu    sync.Mutex
	drawn [20]byte // what was drawn last
}

// Read draws from the reader.
func (s *Source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Reader.Read(p)
}

// Digits draws 40 hexadecimal digits that were never drawn before.
func (s *Source) Digits() (string, error) {
	s.mu.Lock()
	//guard:value-per-round  each round draws a value of its own, so that a late delete of one can't hit the key of the next
	_, err := io.ReadFull(s.Reader, s.drawn[:])
	raw := s.drawn
	s.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("quorum: Config.Random gave no randomness, without which two rounds could share a value: %w", err)
	}
	var digits [2 * len(raw)]byte
	hex.Encode(digits[:], raw[:])
	return string(digits[:]), nil
}

// Jitter draws a pause from zero to bound, evenly. If the reader fails it returns bound,
// because the round after the pause reports the failure.
func (s *Source) Jitter(bound time.Duration) time.Duration {
	var raw [8]byte
	s.mu.Lock()
	_, err := io.ReadFull(s.Reader, raw[:])
	s.mu.Unlock()
	if err != nil {
		return bound
	}
	var n uint64
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return time.Duration(n % uint64(bound+1))
}
