package instance

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialFunc is what redis.Options.Dialer is.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer returns the options' own dialer, or go-redis's. For TLS it makes one with go-redis's settings, because
// go-redis's ignores the context.
func dialer(opt *redis.Options) dialFunc {
	switch {
	case opt.Dialer != nil:
		return opt.Dialer
	case opt.TLSConfig == nil:
		return redis.NewDialer(opt)
	}
	keepAlive := net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}
	plain := &net.Dialer{Timeout: opt.DialTimeout, KeepAliveConfig: keepAlive}
	return (&tls.Dialer{NetDialer: plain, Config: opt.TLSConfig}).DialContext
}

// explained makes go-redis see why there is no connection one step later, during the handshake.
//
// After Options.PoolSize failed dials go-redis fails all commands, until one dial a second succeeds in the
// background, and it logs each. A failed handshake has neither effect. And go-redis takes a server's refusal for
// its reply to HELLO, goes on, and finds the connection closed.
func explained(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			closed, _ := net.Pipe()
			return &noConn{closed, &dialError{err}}, nil
		}
		switch conn.(type) { // if the options were hardened before
		case *noConn, *greeted:
			return conn, nil
		}
		return &greeted{Conn: conn}, nil
	}
}

// dialError is wrapped around a dial's error, because go-redis unwraps the error of a handshake once.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// noConn is a connection that was never made. It only returns the dial's error.
type noConn struct {
	net.Conn // that nothing reads or writes
	err      error
}

func (c *noConn) Read([]byte) (int, error)  { return 0, c.err }
func (c *noConn) Write([]byte) (int, error) { return 0, c.err }

// SyscallConn is how go-redis checks a pooled connection: no command uses one that was dialed in advance.
func (c *noConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// greeted is a connection of which the first bytes are looked at. They show for certain that a server
// isn't Redis, or why it refuses the connection.
type greeted struct {
	net.Conn
	began bool // the server has said something
}

// SyscallConn is how go-redis checks a pooled connection. It can't look into TLS.
func (c *greeted) SyscallConn() (syscall.RawConn, error) {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return raw.SyscallConn()
}

func (c *greeted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case c.began:
	case n > 0:
		c.began = true
		if refusal := refusalIn(p[:n]); refusal != nil {
			return 0, &dialError{refusal}
		}
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		// Redis's TLS port does this. So does a server that is shutting down.
		return 0, &dialError{&refusal{ErrConnection, err, "it took the connection and closed it without a word, as a port that speaks TLS does (use rediss://), or a proxy that refuses HELLO (" + err.Error() + ")"}}
	}
	return n, err
}

// Write says why the server ended the connection, if it said so: in TLS 1.3 it sees that the client has no
// certificate when the client's handshake is over and writing has begun.
func (c *greeted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if !c.began && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
		if _, why := c.Read(make([]byte, 1<<10)); why != nil {
			err = why
		}
	}
	return n, err
}

// refusal is why a server refused a connection.
type refusal struct {
	kind, cause error  // the cause may be nil
	text        string // what the server said, and what to do if the kind doesn't say it
}

func (e *refusal) Error() string   { return fmt.Sprintf("%v: %s", e.kind, e.text) }
func (e *refusal) Unwrap() []error { return []error{e.kind, e.cause} }

// Permanent reports that waiting doesn't help. A server with too many clients may soon have
// fewer, and one that shuts down comes back.
func (e *refusal) Permanent() bool { return e.kind == ErrNotRedis || e.kind == ErrProtected }

// refusalIn checks the first bytes from a server. It returns nil if the handshake can go on.
func refusalIn(p []byte) *refusal {
	const types = "+-:$*_,#!=(%~>|" // of RESP2 and RESP3
	is := ""
	switch {
	case p[0] == '-':
		line, _, _ := bytes.Cut(p[1:], []byte("\r\n"))
		text := readable(line)
		if kind := kindOf(text); kind == ErrProtected || kind == ErrMaxClients {
			text, _, _ = strings.Cut(text, ".") // instructions follow, of which the kind has the best one
			return &refusal{kind: kind, text: shortened(text)}
		}
		return nil
	case strings.IndexByte(types, p[0]) >= 0:
		return nil
	case bytes.HasPrefix(p, []byte{0x15, 3}): // an alert
		is = "the port speaks TLS; use rediss://, or the server's plain port; "
	case bytes.HasPrefix(p, []byte("HTTP/")):
		is = "it is a web server; "
	}
	return &refusal{kind: ErrNotRedis, text: fmt.Sprintf("%sit begins with %.40q", is, p)}
}
