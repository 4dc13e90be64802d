//go:build unix

package redisproc

import "sync"

// maxOutput limits what is kept of a process's output, in bytes.
const maxOutput = 1 << 20

// Output keeps the end of a process's output.
type Output struct {
	mu   sync.Mutex
	text []byte
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text) > maxOutput {
		o.text = append([]byte(nil), o.text[len(o.text)-maxOutput/2:]...)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
