package embedded

import (
	"net"
	"sync"
	"time"
)

// roomy is a client's end of a connection inside the process, with room for what
// the server hasn't read yet, as a kernel's socket has: without it a client that
// sends many commands at once would wait for the server to read them, and the
// server, with its answer to the first, for the client.
//
// Writes never wait, so their deadline has no effect.
type roomy struct {
	net.Conn

	mu      sync.Mutex
	unread  []byte
	pumping bool
	failed  error
}

// Write takes all of p. An error is that of an earlier write.
func (c *roomy) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return 0, c.failed
	}
	c.unread = append(c.unread, p...)
	if !c.pumping {
		c.pumping = true
		go c.pump() // ends when all is read, or either end is closed
	}
	return len(p), nil
}

func (c *roomy) pump() {
	for {
		c.mu.Lock()
		chunk := c.unread
		c.unread = nil
		if len(chunk) == 0 || c.failed != nil {
			c.pumping = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if _, err := c.Conn.Write(chunk); err != nil {
			c.mu.Lock()
			c.failed = err
			c.mu.Unlock()
		}
	}
}

// SetDeadline is SetReadDeadline.
func (c *roomy) SetDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (c *roomy) SetWriteDeadline(time.Time) error { return nil }
