//go:build unix

package redisproc

import (
	"bytes"
	"sync"
)

// maxOutput bounds what is kept of a server's output, in bytes.
const maxOutput = 1 << 20

// output keeps what a server writes, for when it doesn't start.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.b.Len() < maxOutput {
		o.b.Write(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
