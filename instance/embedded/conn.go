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
}

// Write accepts all of p. That the server has closed the connection shows when the client reads.
func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
		c.unread, c.pumping = nil, len(chunk) > 0
		c.mu.Unlock()
		if len(chunk) == 0 {
			return
		}
		_, _ = c.Conn.Write(chunk)
	}
}

// SetDeadline is SetReadDeadline.
func (c *bufferedConn) SetDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (c *bufferedConn) SetWriteDeadline(time.Time) error { return nil }
