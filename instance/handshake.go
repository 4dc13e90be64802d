package instance

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/drift"
)

// watchHandshake watches what the server says on each connection until its handshake is over.
// It sends no command on a connection that is older than maxAge, except for a subscription,
// which has no vote.
func watchHandshake(dial dialFunc, maxAge time.Duration) dialFunc {
	reader := drift.SystemReader()
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c := &handshakeConn{reader: reader, dialed: reader.Now(), maxAge: maxAge}
		if ctx.Value(dialOnce{}) != nil {
			c.maxAge = math.MaxInt64
			//guard:subscription-bounded  what answers a subscription can't fill the memory
			c.limits.always = true
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		switch watched := conn.(type) { // if the options were hardened before
		case *noConn:
			return conn, nil
		case *handshakeConn:
			watched.within(c)
			return conn, nil
		case *pollable:
			watched.within(c)
			return conn, nil
		}
		if at, ok := conn.(*termed); ok {
			conn, c.term = at.Conn, at.term
		}
		c.Conn = conn
		if raw, ok := conn.(syscall.Conn); ok {
			c.raw = raw
			return &pollable{c, raw}, nil
		}
		return c, nil
	}
}

// handshakeConn is a connection that checks the server's replies before go-redis does. Until
// the first command that isn't one of go-redis's own (HELLO, AUTH, SELECT...):
//
//   - go-redis allocates as much as a reply announces, and a server may announce 2 GB. The
//     replies of a subscription stay limited. Those of other connections are limited by
//     replyBuffer, because they may be of the caller's own commands; but no line is endless.
//   - If the server refuses the connection with an error, go-redis takes that for the reply
//     to HELLO, goes on, and finds the connection closed.
//   - The first byte shows for certain that a server is not Redis.
type handshakeConn struct {
	net.Conn
	reader *drift.Reader
	dialed drift.Instant
	maxAge time.Duration
	over   atomic.Bool
	began  bool   // the server has said something
	term   string // of the mark, see termed
	limits replyLimits

	// Of the pipe, which uses it alone.
	raw       syscall.Conn  // nil with TLS
	answer    []byte        // to a claim
	received  int64         // bytes of replies
	wrote     time.Time     // the last command of the handshake
	roundTrip time.Duration // the quickest exchange of the handshake
}

// pollable is a handshakeConn of which go-redis can see whether it was closed.
type pollable struct {
	*handshakeConn
	raw syscall.Conn
}

// SyscallConn is how go-redis checks a pooled connection.
func (p *pollable) SyscallConn() (syscall.RawConn, error) {
	if err := p.tooOld(); err != nil {
		return nil, err
	}
	return p.raw.SyscallConn()
}

// tooOld returns an error if no command may be sent any more.
//
// Invariant: wire.Instance.ConnLife is the longest time after which requests reach another
// server. The clock of go-redis's pool, which the pipe's connections aren't in, stands still
// while a machine is suspended.
func (c *handshakeConn) tooOld() error {
	//guard:connection-not-too-old  no command is sent on a connection that is older than ConnLife
	if d := c.age(); d > c.maxAge {
		return fmt.Errorf("%w: it is %v old, and its address may lead to another server by now", ErrConnection, d.Round(time.Millisecond))
	}
	return nil
}

// within makes it end with ConnLife of the client, whose options may have been changed after Harden.
// The client's dial began before this one.
func (c *handshakeConn) within(client *handshakeConn) {
	//guard:shortest-life-counts  no command is sent on a connection that is older than the client's options allow
	c.maxAge = min(c.maxAge, client.maxAge)
	c.reader, c.dialed = client.reader, client.dialed
}

// age is how long ago its dial began.
func (c *handshakeConn) age() time.Duration { return drift.Elapsed(c.dialed, c.reader.Now()) }

// usable reports whether a batch may be written on it: it is young enough, and the server has
// neither closed it nor said anything that wasn't asked for.
func (c *handshakeConn) usable() bool {
	if c.age() > c.maxAge {
		return false
	}
	if c.raw == nil {
		return true
	}
	// The last reply's may have passed.
	return c.SetReadDeadline(time.Time{}) == nil && isQuiet(c.raw)
}

// Write ends the handshake with the first command that is no part of it.
func (c *handshakeConn) Write(p []byte) (int, error) {
	if err := c.tooOld(); err != nil {
		return 0, &dialError{err}
	}
	if claim := claimIn(p); claim != "" {
		c.answer = fmt.Appendf(nil, "+%s\r\n", claim)
		claimed(claim, c)
		return len(p), nil
	}
	if !c.over.Load() {
		if c.wrote = time.Now(); !isHandshake(p) {
			c.over.Store(true)
		}
	}
	return c.Conn.Write(p)
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	if len(c.answer) > 0 {
		n := copy(p, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.received += int64(n)
	if c.over.Load() {
		if bad := c.limits.take(p[:n], true); bad != nil {
			return 0, &dialError{bad}
		}
		return n, err
	}
	if n == 0 {
		if !c.began && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
			// Redis's TLS port does this. So does a server that is shutting down.
			return 0, &dialError{&handshakeError{kind: ErrConnection, todo: "it took the connection and closed it without a word; if the port speaks TLS, use rediss://", text: err.Error(), cause: err}}
		}
		return n, err
	}
	if took := time.Since(c.wrote); c.roundTrip == 0 || took < c.roundTrip {
		c.roundTrip = took
	}
	if !c.began {
		c.began = true
		if refusal := refusalIn(p[:n]); refusal != nil {
			return 0, &dialError{refusal}
		}
	}
	if bad := c.limits.take(p[:n], false); bad != nil {
		return 0, &dialError{bad}
	}
	return n, err
}

// handshakeError is why a connection was closed during the handshake.
type handshakeError struct {
	kind error
	// todo is what to do, if the kind doesn't say it; text is what the server said.
	todo, text string
	cause      error // if there is one
}

func (e *handshakeError) Error() string {
	if e.todo == "" {
		return fmt.Sprintf("%v (%s)", e.kind, e.text)
	}
	return fmt.Sprintf("%v: %s (%s)", e.kind, e.todo, e.text)
}

// Unwrap returns the kind and the cause.
func (e *handshakeError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// Permanent reports that waiting doesn't help. A server with too many clients may soon have
// fewer, and one that shuts down comes back.
//
//guard:full-server-is-waited-for  a server that has too many clients is waited for
func (e *handshakeError) Permanent() bool { return e.kind == ErrNotRedis || e.kind == ErrProtected }

// refusalIn checks the first bytes from a server. It returns nil if the handshake can go on.
func refusalIn(p []byte) *handshakeError {
	if strings.IndexByte(types, p[0]) < 0 {
		e := &handshakeError{kind: ErrNotRedis, text: fmt.Sprintf("it begins with %.40q", p)}
		switch {
		case len(p) > 1 && p[0] == 0x15 && p[1] == 3: // an alert
			e.todo = "the port speaks TLS; use rediss://, or the server's plain port"
		case bytes.HasPrefix(p, []byte("HTTP/")):
			e.todo = "it is a web server"
		}
		return e
	}
	if p[0] != '-' {
		return nil
	}
	line, _, _ := bytes.Cut(p[1:], []byte("\r\n"))
	text := readable(line)
	switch kind := kindOf(text); kind {
	case ErrProtected:
		// Instructions follow. The kind has the best one.
		text, _, _ = strings.Cut(text, ".")
		return &handshakeError{kind: kind, text: shortened(text)}
	case ErrMaxClients:
		return &handshakeError{kind: kind, text: shortened(text)}
	}
	return nil
}

// isHandshake reports whether p begins with a command of go-redis's handshake.
func isHandshake(p []byte) bool {
	// *2\r\n$5\r\nhello\r\n...
	parts := bytes.SplitN(p, []byte("\r\n"), 6)
	if len(parts) < 4 || len(parts[0]) == 0 || parts[0][0] != '*' {
		return false
	}
	switch strings.ToLower(string(parts[2])) {
	case "hello", "auth", "select", "ping":
		return true
	case "client":
		what := ""
		if len(parts) > 4 {
			what = strings.ToLower(string(parts[4]))
		}
		return what == "setname" || what == "setinfo"
	}
	return false
}

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
