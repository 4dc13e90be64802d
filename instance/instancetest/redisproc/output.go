//go:build unix

package redisproc

import (
	"bytes"
	"sync"
)

// maxOutput limits what is kept of a server's output, in bytes.
const maxOutput = 1 << 20

// output keeps a server's output, for the error if it doesn't start.
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
