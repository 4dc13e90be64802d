package quorum

import (
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"
)

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
