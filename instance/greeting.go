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

// greeted makes each connection a greeting, until the server has been greeted. No command
// is sent on it when it is older than life, but for a subscription, which has no vote.
func greeted(dial func(ctx context.Context, network, addr string) (net.Conn, error), life time.Duration) func(context.Context, string, string) (net.Conn, error) {
	reader := drift.SystemReader()
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		old := age{reader: reader, begun: reader.Now(), life: life}
		if ctx.Value(oneDial{}) != nil {
			old.life = math.MaxInt64
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		switch conn.(type) {
		case *noConn, *greeting, *pollable: // of options that were hardened before
			return conn, nil
		}
		g := &greeting{Conn: conn, age: old}
		if raw, ok := conn.(syscall.Conn); ok {
			return &pollable{g, raw}, nil
		}
		return g, nil
	}
}

// greeting is a connection. Until the first command that isn't one of the client's own
// (HELLO, AUTH, SELECT...) it looks at what the server says, before go-redis does:
//
//   - go-redis allocates what a reply says that it has, and a peer may say 2 GB. Later
//     replies are bounded by their sinks.
//   - What a server says to refuse the connection is lost on go-redis, which takes it for
//     the answer to HELLO, goes on, and finds the connection closed.
//   - What isn't Redis can be told by its first byte, for good.
type greeting struct {
	net.Conn
	age
	over  atomic.Bool
	heard bool // anything yet
	reply replyBounds
}

// pollable is a greeting of which go-redis can see whether it was closed.
type pollable struct {
	*greeting
	raw syscall.Conn
}

// SyscallConn is what go-redis asks a pooled connection's health through.
func (p *pollable) SyscallConn() (syscall.RawConn, error) {
	if err := p.tooOld(); err != nil {
		return nil, err
	}
	return p.raw.SyscallConn()
}

// age is how old a connection may become.
type age struct {
	reader *drift.Reader
	begun  drift.Instant // the dial
	life   time.Duration
}

// tooOld is an error if no command may be sent any more.
//
// Invariant: what wire.Instance.ConnLife promises of the time that a command takes to go to
// another server. go-redis sees to the same, but by a clock that stands still while a
// machine is suspended.
func (a *age) tooOld() error {
	//guard:connection-not-too-old  no command is sent on a connection that is older than ConnLife
	if d := drift.Elapsed(a.begun, a.reader.Now()); d > a.life {
		return fmt.Errorf("%w: it is %v old, and its address may lead to another server by now", ErrConnection, d.Round(time.Millisecond))
	}
	return nil
}

// Write ends the greeting with the first command that isn't a part of it.
func (g *greeting) Write(p []byte) (int, error) {
	if err := g.tooOld(); err != nil {
		return 0, err
	}
	if !g.over.Load() {
		if greets(p) {
			g.reply.total, g.reply.elements = 0, 0
		} else {
			g.over.Store(true)
		}
	}
	return g.Conn.Write(p)
}

func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if g.over.Load() {
		return n, err
	}
	if n == 0 {
		if !g.heard && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
			// A port of Redis's that speaks TLS does so. But so does a server that is
			// just going down.
			return 0, &dialError{&greetError{kind: ErrConnection, todo: "it took the connection and closed it without a word; if the port speaks TLS, use rediss://", text: err.Error(), cause: err}}
		}
		return n, err
	}
	if !g.heard {
		g.heard = true
		if refusal := refusalIn(p[:n]); refusal != nil {
			return 0, &dialError{refusal}
		}
	}
	if bad := g.reply.take(p[:n]); bad != nil {
		return 0, &dialError{bad}
	}
	return n, err
}

// greetError is why a connection was given up while the server was greeted.
type greetError struct {
	kind error
	// todo is what to do, where the kind doesn't say it; text is what was said.
	todo, text string
	cause      error // if there is one
}

func (e *greetError) Error() string {
	if e.todo == "" {
		return fmt.Sprintf("%v (%s)", e.kind, e.text)
	}
	return fmt.Sprintf("%v: %s (%s)", e.kind, e.todo, e.text)
}

// Unwrap gives the kind, and what is behind it.
func (e *greetError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// Permanent reports that waiting makes no other server of what answers. One that has too
// many clients may soon have less, and one that goes down comes back.
//
//guard:full-server-is-waited-for  a server that has too many clients is waited for
func (e *greetError) Permanent() bool { return e.kind == ErrNotRedis || e.kind == ErrProtected }

// refusalIn looks at the first bytes of a connection; nil if it can go on.
func refusalIn(p []byte) *greetError {
	const types = "+-:$*_#,(!=%~>|"
	if strings.IndexByte(types, p[0]) < 0 {
		e := &greetError{kind: ErrNotRedis, text: fmt.Sprintf("it begins with %.40q", p)}
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
		// What follows are instructions, of which the kind has the best.
		text, _, _ = strings.Cut(text, ".")
		return &greetError{kind: kind, text: shortened(text)}
	case ErrMaxClients:
		return &greetError{kind: kind, text: shortened(text)}
	}
	return nil
}

const (
	// maxGreeting is how much a server may say to a command of the greeting, in
	// bytes, and maxGreetingElements how many elements that may have. HELLO's answer
	// has 14, and 8 for each module.
	maxGreeting         = 64 << 10
	maxGreetingElements = 4096
)

// replyBounds reads replies just far enough to know how long they say that they are.
type replyBounds struct {
	total    int // bytes since the last command
	elements int // since the last command
	text     int // bytes of a text that are still to come
	line     [24]byte
	length   int // of the line, also beyond what is kept of it
}

// take looks at some more of what the server says.
func (b *replyBounds) take(p []byte) *greetError {
	if b.total += len(p); b.total > maxGreeting {
		return tooLong("more than %d bytes to one command", maxGreeting)
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

func (b *replyBounds) endLine() *greetError {
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
		if n > maxGreeting {
			return tooLong("a text of %d bytes", n)
		}
		b.text = n + len("\r\n")
		return nil
	}
	if n > maxGreetingElements {
		return tooLong("%d elements", n)
	}
	if b.elements += n; b.elements > maxGreetingElements {
		return tooLong("more than %d elements to one command", maxGreetingElements)
	}
	return nil
}

func tooLong(format string, args ...any) *greetError {
	return &greetError{kind: ErrNotRedis, text: "it answered the greeting with " + fmt.Sprintf(format, args...)}
}

// greets reports whether what is written begins with a command of go-redis's greeting.
func greets(p []byte) bool {
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
