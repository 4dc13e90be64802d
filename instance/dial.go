package instance

import (
	"context"
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// lateDialer makes go-redis see a failed dial one step later: when it greets
// the server over a connection that was never made.
//
// After Options.PoolSize failed dials go-redis stops dialing, lets a goroutine
// try once a second, and fails all commands meanwhile: a server that is back
// would be without votes for up to a second more. And it logs each of these
// dials to standard error. A greeting that fails has neither effect.
func lateDialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return &noConn{err: &dialError{err}}, nil
		}
		return conn, nil
	}
}

// dialer gives the options' own dialer, or go-redis's, but for TLS: there
// go-redis's ignores the context. Its pool dials on a context that ends with
// DialTimeout rather than with the command, so that others can have the
// connection.
func dialer(opt *redis.Options) func(context.Context, string, string) (net.Conn, error) {
	switch {
	case opt.Dialer != nil:
		return opt.Dialer
	case opt.TLSConfig == nil:
		return redis.NewDialer(opt)
	}
	secure := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: opt.DialTimeout, KeepAliveConfig: keepAlive},
		Config:    opt.TLSConfig,
	}
	return secure.DialContext
}

// keepAlive is go-redis's own, which it doesn't export.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// dialError wraps a dial's error once more: go-redis takes one layer off the
// error of a greeting.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// noConn is a connection that was never made: all it does is to say why.
type noConn struct{ err error }

// A noConn counts as unhealthy in go-redis's pool (SyscallConn), so that one
// that was dialed ahead isn't used for a command.
var (
	_ net.Conn     = (*noConn)(nil)
	_ syscall.Conn = (*noConn)(nil)
)

func (c *noConn) Read([]byte) (int, error)         { return 0, c.err }
func (c *noConn) Write([]byte) (int, error)        { return 0, c.err }
func (c *noConn) Close() error                     { return nil }
func (c *noConn) LocalAddr() net.Addr              { return noAddr{} }
func (c *noConn) RemoteAddr() net.Addr             { return noAddr{} }
func (c *noConn) SetDeadline(time.Time) error      { return c.err }
func (c *noConn) SetReadDeadline(time.Time) error  { return c.err }
func (c *noConn) SetWriteDeadline(time.Time) error { return c.err }

// SyscallConn is what go-redis asks a pooled connection's health through.
func (c *noConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// noAddr is the address of a connection that was never made.
type noAddr struct{}

func (noAddr) Network() string { return "none" }
func (noAddr) String() string  { return "none" }
