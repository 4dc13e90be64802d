package embedded

import (
	"net"
	"sync"
	"time"
)

// bufferedConn is a client's end of a connection inside the process. It buffers what the
// server hasn't read yet, as a kernel's socket does. Without the buffer a client that sends
// many commands at once would wait for the server to read them, and the server, which sends
// the first reply, for the client.
//
// Writes never block, so their deadline has no effect.
type bufferedConn struct {
	net.Conn

	mu      sync.Mutex
	unread  []byte
	pumping bool
	failed  error
}

// Write accepts all of p. An error is that of an earlier write.
func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return 0, c.failed
	}
	c.unread = append(c.unread, p...)
	if !c.pumping {
		c.pumping = true
		go c.pump() // ends when everything is read, or either end is closed
	}
	return len(p), nil
}

func (c *bufferedConn) pump() {
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
func (c *bufferedConn) SetDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (c *bufferedConn) SetWriteDeadline(time.Time) error { return nil }
