package instance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

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
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		switch conn.(type) {
		case *noConn, *handshakeConn, *pollable: // of options that were hardened before
			return conn, nil
		}
		c.Conn = conn
		if raw, ok := conn.(syscall.Conn); ok {
			return &pollable{c, raw}, nil
		}
		return c, nil
	}
}

// handshakeConn is a connection that checks the server's replies before go-redis does, until
// the first command that isn't one of go-redis's own (HELLO, AUTH, SELECT...):
//
//   - go-redis allocates as much as a reply announces, and a server may announce 2 GB. Later
//     replies are limited by replyBuffer.
//   - If the server refuses the connection with an error, go-redis takes that for the reply
//     to HELLO, goes on, and finds the connection closed.
//   - The first byte shows for certain that a server is not Redis.
type handshakeConn struct {
	net.Conn
	reader *drift.Reader
	dialed drift.Instant
	maxAge time.Duration
	over   atomic.Bool
	began  bool // the server has said something
	reply  replyLimits
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
// server. go-redis closes old connections, too, but by a clock that stands still while a
// machine is suspended.
func (c *handshakeConn) tooOld() error {
	//guard:connection-not-too-old  no command is sent on a connection that is older than ConnLife
	if d := drift.Elapsed(c.dialed, c.reader.Now()); d > c.maxAge {
		return fmt.Errorf("%w: it is %v old, and its address may lead to another server by now", ErrConnection, d.Round(time.Millisecond))
	}
	return nil
}

// Write ends the handshake with the first command that is no part of it.
func (c *handshakeConn) Write(p []byte) (int, error) {
	if err := c.tooOld(); err != nil {
		return 0, &dialError{err}
	}
	if !c.over.Load() {
		if isHandshake(p) {
			c.reply.total, c.reply.elements = 0, 0
		} else {
			c.over.Store(true)
		}
	}
	return c.Conn.Write(p)
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.over.Load() {
		return n, err
	}
	if n == 0 {
		if !c.began && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
			// Redis's TLS port does this. So does a server that is shutting down.
			return 0, &dialError{&handshakeError{kind: ErrConnection, todo: "it took the connection and closed it without a word; if the port speaks TLS, use rediss://", text: err.Error(), cause: err}}
		}
		return n, err
	}
	if !c.began {
		c.began = true
		if refusal := refusalIn(p[:n]); refusal != nil {
			return 0, &dialError{refusal}
		}
	}
	if bad := c.reply.take(p[:n]); bad != nil {
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
	const types = "+-:$*_#,(!=%~>|"
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

const (
	// maxHandshake is the longest reply to a command of the handshake, in bytes, and
	// maxHandshakeElements the largest number of its elements. HELLO's reply has 14, and 8
	// for each module.
	maxHandshake         = 64 << 10
	maxHandshakeElements = 4096
)

// replyLimits reads replies just far enough to know the lengths that they announce.
type replyLimits struct {
	total    int // bytes since the last command
	elements int // since the last command
	text     int // bytes of a string that are still to come
	line     [24]byte
	length   int // of the line, of which line may have only the beginning
}

// take checks the next bytes from the server.
func (b *replyLimits) take(p []byte) *handshakeError {
	if b.total += len(p); b.total > maxHandshake {
		return tooLong("more than %d bytes to one command", maxHandshake)
	}
	for len(p) > 0 {
		if b.text > 0 {
			n := min(b.text, len(p))
			b.text -= n
			p = p[n:]
			continue
		}
		c := p[0]
		p = p[1:]
		if c != '\n' {
			if b.length < len(b.line) {
				b.line[b.length] = c
			}
			b.length++
			continue
		}
		if bad := b.endLine(); bad != nil {
			return bad
		}
	}
	return nil
}

func (b *replyLimits) endLine() *handshakeError {
	length := b.length
	b.length = 0
	if length == 0 {
		return nil
	}
	kind := b.line[0]
	if strings.IndexByte("$=!*~>%|", kind) < 0 {
		return nil
	}
	if length > len(b.line) {
		return tooLong("a length of %d digits", length)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(b.line[1:length]), "\r"))
	if err != nil || n < 0 {
		return nil // null, or for go-redis to refuse
	}
	if strings.IndexByte("$=!", kind) >= 0 {
		//guard:greeting-bounded  what answers the greeting can't fill the memory
		if n > maxHandshake {
			return tooLong("a text of %d bytes", n)
		}
		b.text = n + len("\r\n")
		return nil
	}
	if n > maxHandshakeElements {
		return tooLong("%d elements", n)
	}
	if b.elements += n; b.elements > maxHandshakeElements {
		return tooLong("more than %d elements to one command", maxHandshakeElements)
	}
	return nil
}

func tooLong(format string, args ...any) *handshakeError {
	return &handshakeError{kind: ErrNotRedis, text: "it answered the handshake with " + fmt.Sprintf(format, args...)}
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
