package instance

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialFunc is what redis.Options.Dialer is.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// delayDialError makes go-redis see a failed dial one step later, during the handshake over
// a connection that was never made.
//
// After Options.PoolSize failed dials go-redis stops dialing, tries again once a second in
// the background, and fails all commands until then: a server that is back would have no
// votes for up to a second more. It also logs each of these dials to standard error. A
// failed handshake has neither effect.
func delayDialError(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return &noConn{err: &dialError{err}}, nil
		}
		return conn, nil
	}
}

// dialer returns the options' own dialer, or go-redis's. For TLS it makes one, because
// go-redis's ignores the context. The context of a pool's dial ends with DialTimeout and not
// with the command, so that other commands can use the connection.
func dialer(opt *redis.Options) dialFunc {
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

// dialError wraps a dial's error once more, because go-redis unwraps the error of a
// handshake once.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// noConn is a connection that was never made. It only returns the dial's error.
type noConn struct{ err error }

var (
	_ net.Conn     = (*noConn)(nil)
	_ syscall.Conn = (*noConn)(nil)
)

func (c *noConn) Read([]byte) (int, error)         { return 0, c.err }
func (c *noConn) Write([]byte) (int, error)        { return 0, c.err }
func (c *noConn) Close() error                     { return nil }
func (c *noConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *noConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *noConn) SetDeadline(time.Time) error      { return c.err }
func (c *noConn) SetReadDeadline(time.Time) error  { return c.err }
func (c *noConn) SetWriteDeadline(time.Time) error { return c.err }

// SyscallConn is how go-redis checks a pooled connection. The error makes a noConn that was
// dialed in advance unhealthy, so that no command uses it.
func (c *noConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// checkPassword makes go-redis find out during the handshake that the server wants a
// password and the options have none. go-redis itself lets such a connection pass. The
// server then closes it at the first command with more than ten arguments, mostly before the
// client can read why, and the client cannot know whether the command was carried out.
//
// It costs a round trip for each new connection without a password.
func checkPassword(opt *redis.Options) func(context.Context, *redis.Conn) error {
	next := opt.OnConnect
	if opt.Password != "" || opt.CredentialsProvider != nil || opt.CredentialsProviderContext != nil || opt.StreamingCredentialsProvider != nil {
		return next
	}
	return func(ctx context.Context, conn *redis.Conn) error {
		err := conn.Ping(ctx).Err()
		var reply redis.Error
		// Any other reply will do, because a user may lack the right to PING.
		if err != nil && (!errors.As(err, &reply) || kindOf(reply.Error()) == ErrAuth) {
			return err
		}
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}
