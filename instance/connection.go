package instance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// connection is a connection of the pipe. go-redis makes it and speaks on it, but the pipe
// keeps it: in go-redis's own pool the request that finds no young connection pays for the
// dial and the handshake, with its own timeout. Over a long distance these take longer than
// that, and the connection that is ready too late for one request would be closed before the
// next.
type connection struct {
	conn     *redis.Conn
	pipeline redis.Pipeliner
	net      *handshakeConn
	lifetime time.Duration // from when on another one takes its place
	ends     time.Time     // when it is too old
	read     int64         // how many bytes go-redis has read of it, up to the last reply
	used     bool          // by a batch
}

// openConnection makes a connection, within the client's DialTimeout for the dial, TLS and
// the handshake together.
func (r *Redis) openConnection() (*connection, error) {
	ctx, cancel := context.WithTimeout(r.pipe.ctx, r.dialTimeout())
	defer cancel()
	c := &connection{conn: r.client.EphemeralConn()}
	if err := c.claim(ctx); err != nil {
		c.close()
		return nil, r.notConnected(ctx, err)
	}
	c.pipeline, c.read = c.conn.Pipeline(), c.net.received
	return c, nil
}

// dialTimeout is the longest time in which a connection is made.
func dialTimeout(opt *redis.Options) time.Duration {
	if opt.DialTimeout > 0 {
		return opt.DialTimeout
	}
	return defaultDialTimeout
}

func (r *Redis) dialTimeout() time.Duration { return dialTimeout(r.client.Options()) }

// notConnected returns why no connection was made.
func (r *Redis) notConnected(ctx context.Context, err error) error {
	why := explain(context.Background(), err) // the context is nobody's who asks for something
	var reply redis.Error
	var handshake *handshakeError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errClosed
	case !pastDeadline(ctx), errors.As(err, &handshake), errors.As(err, &reply):
		return why
	case r.client.Options().TLSConfig != nil && !r.pipe.wrote():
		return fmt.Errorf("%w: %s within %v (%w)", wire.ErrTimeout, noTLS, r.dialTimeout(), hideContext{err})
	}
	full := ""
	if size := r.client.Options().PoolSize; int(r.client.PoolStats().TotalConns) >= size {
		full = fmt.Sprintf(", or all %d of Options.PoolSize are in use", size)
	}
	return fmt.Errorf("%w: no connection was made within Options.DialTimeout, %v; its address isn't reached, or the server doesn't answer%s (%w)", wire.ErrTimeout, r.dialTimeout(), full, hideContext{err})
}

// claim has go-redis make a connection and greet the server, and finds out which one it is.
func (c *connection) claim(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	claim, claimed := claimPrefix+rand.Text(), make(chan *handshakeConn, 1)
	claims.Store(claim, claimed)
	defer claims.Delete(claim)
	cmd := redis.NewStatusCmd(ctx, "PING", claim)
	if err := c.conn.Process(ctx, cmd); err != nil {
		return err
	}
	select {
	case c.net = <-claimed:
	default:
		return fmt.Errorf("%w: a hook or the dialer hides to which connection a command goes", ErrClientOptions)
	}
	if cmd.Val() != claim {
		return fmt.Errorf("%w: the handshake was answered with more than was asked for", ErrReply)
	}
	return nil
}

// close closes it.
func (c *connection) close() { _ = c.conn.Close() }

// A claim is the pipe's first command on a connection. It never leaves this process: the
// connection below go-redis answers it. So the pipe learns which one it has, and with that how
// old it is, and whether the server has closed it. To go-redis's hooks it is a PING.
const (
	claimPrefix = "redlock:connection:"
	claimLength = len(claimPrefix) + 26 // of rand.Text
)

// claims has a channel for each connection that is being made in this process. It isn't the pipe's,
// because a client outlives its instances.
var claims sync.Map

var claimHead = fmt.Appendf(nil, "*2\r\n$4\r\nPING\r\n$%d\r\n%s", claimLength, claimPrefix)

// claimIn returns the claim that go-redis is about to write, "" if it is something else.
func claimIn(p []byte) string {
	if !bytes.HasPrefix(p, claimHead) {
		return ""
	}
	return string(bytes.TrimSuffix(p[len(claimHead)-len(claimPrefix):], []byte("\r\n")))
}

// claimed gives a connection to the goroutine that claims it.
func claimed(claim string, c *handshakeConn) {
	if waiting, ok := claims.Load(claim); ok {
		select {
		case waiting.(chan *handshakeConn) <- c:
		default: // a hook has sent it twice
		}
	}
}

// dialHook sees every connection that the client makes.
type dialHook struct{ maxAge time.Duration }

// DialHook watches the connections, and refuses a subscription's second dial.
func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	// Changes nothing if the options are hardened.
	dial := watchHandshake(next, h.maxAge)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dialed, ok := ctx.Value(dialOnce{}).(*atomic.Bool); ok && dialed.Swap(true) {
			return nil, errLost
		}
		return dial(ctx, network, addr)
	}
}

// ProcessHook changes nothing.
func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook changes nothing.
func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The pipe's connections.

// takeLocked takes a connection for a batch, nil if none is ready, and returns those that are
// to be closed. A batch goes to the connection that was used last, so that those that aren't
// needed grow old.
//
// A connection that has reached ConnMaxLifetime is used until another one has been made in its
// place, for up to DialTimeout. ConnLife counts both. So a request of a busy instance
// doesn't wait for a dial. An idle instance dials nothing: its connections end with their
// time, and Connect waits for the next one.
func (p *pipe) takeLocked() (c *connection, old []*connection) {
	for len(p.ready) > 0 {
		last := len(p.ready) - 1
		c, p.ready = p.ready[last], p.ready[:last]
		//guard:aged-connections-unused  no batch is written on a connection that is older than ConnLife, or was closed
		if c.net.usable() {
			if c.used = true; c.aged() {
				p.connectLocked(true)
			}
			p.warmLocked()
			return c, old
		}
		if !c.used {
			// The server closes connections as soon as they are made.
			p.redialAt = time.Now().Add(dialPause)
		}
		p.conns--
		old = append(old, c)
	}
	p.warmLocked()
	return nil, old
}

// aged reports whether another connection is to take its place.
func (c *connection) aged() bool { return c.net.age() >= c.lifetime }

// putBackLocked takes in a connection whose batch has ended. It returns it if it is to be closed.
func (p *pipe) putBackLocked(c *connection, broken bool) (old []*connection) {
	//guard:replaced-connections-end  a connection in whose place there is another one isn't used any more
	if broken || p.closed || c.aged() && len(p.ready) > 0 {
		p.conns--
		old = append(old, c)
	} else {
		p.ready = append(p.ready, c)
		p.setTimerLocked(c.ends)
	}
	p.warmLocked()
	return old
}

// dropLocked takes connections out of those that are ready, for the caller to close.
func (p *pipe) dropLocked(which func(*connection) bool) (old []*connection) {
	p.ready = slices.DeleteFunc(p.ready, func(c *connection) bool {
		if !which(c) {
			return false
		}
		p.conns--
		old = append(old, c)
		return true
	})
	return old
}

func closeAll(connections []*connection) {
	for _, c := range connections {
		c.close()
	}
}

// connectLocked begins to make a connection, unless enough are being made. While none works, one is
// made at a time, because a server that hangs accepts any number and answers none. A
// replacement comes in addition to those that are in use.
func (p *pipe) connectLocked(replacement bool) {
	most, size := maxInFlight, p.r.client.Options().PoolSize
	if replacement {
		most++
	}
	switch {
	case p.closed, p.conns+p.connecting >= min(most, size):
	case p.connecting > 0 && (replacement || p.conns == 0 || p.overdue):
	case time.Now().Before(p.redialAt):
		p.setTimerLocked(p.redialAt)
	default:
		p.connecting++
		if p.attempt == nil {
			p.attempt = &attempt{ended: make(chan struct{})}
		}
		go p.connect()
	}
}

// attempt is an attempt to connect that requests may wait for.
type attempt struct {
	ended chan struct{}
	err   error // once it has ended
}

// connect makes a connection. It ends with DialTimeout, whatever the server does.
func (p *pipe) connect() {
	c, err := p.r.openConnection()
	p.mu.Lock()
	p.connecting--
	var old []*connection
	var ended []*call
	if err == nil {
		old = p.connectedLocked(c)
	} else {
		ended = p.failedLocked(err)
	}
	if attempt := p.attempt; attempt != nil && (err == nil || p.connecting == 0) {
		p.attempt, attempt.err = nil, err
		close(attempt.ended)
	}
	p.warmLocked()
	wake := p.startLocked()
	p.mu.Unlock()
	if wake != nil {
		wake <- struct{}{}
	}
	closeAll(old)
	for _, c := range ended {
		p.r.deliver(c)
	}
}

func (p *pipe) connectedLocked(c *connection) (old []*connection) {
	p.dialErr, p.unreachable = nil, false
	if rtt := c.net.roundTrip; rtt > 0 && (p.rtt == 0 || rtt < p.rtt) {
		p.rtt = rtt
	}
	opt := p.r.client.Options()
	c.lifetime = opt.ConnMaxLifetime
	c.ends = time.Now().Add(c.net.maxAge - c.net.age())
	p.newest = c.ends
	old = p.dropLocked((*connection).aged)
	p.conns++
	return append(old, p.putBackLocked(c, false)...)
}

// failedLocked takes in that a connection could not be made, and returns the calls that this has
// ended: all that wait for one.
func (p *pipe) failedLocked(err error) []*call {
	p.redialAt = time.Now().Add(dialPause)
	if p.conns > 0 || p.connecting > 0 {
		return nil
	}
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrBusyClient):
		p.redialAt = time.Time{}
	case isTimeout(err):
		p.overdue, p.unreachable, p.redialAt = true, true, time.Time{}
	default:
		p.dialErr, p.unreachable = err, true
	}
	return p.failLocked(err)
}

// failLocked ends all calls that wait.
func (p *pipe) failLocked(err error) []*call {
	all := p.queue.takeAll()
	for _, c := range all {
		c.vote = wire.Vote{Unsent: true, Err: err}
		p.doneLocked(c)
	}
	return all
}

// warmLocked notes until when requests need not wait for a connection: as long as there is one, and
// as long as the server is known not to answer.
func (p *pipe) warmLocked() {
	until := time.Duration(0)
	switch {
	case p.overdue || p.unreachable:
		until = math.MaxInt64
	case p.conns > 0:
		until = p.newest.Sub(p.began)
	}
	p.warmUntil.Store(int64(until))
}

// Connected reports whether Connect has nothing to wait for, see wire.Connector.
func (r *Redis) Connected() bool {
	return int64(time.Since(r.pipe.began)) < r.pipe.warmUntil.Load()
}

// Connect waits for a connection, see wire.Connector: for the client's DialTimeout at most.
func (r *Redis) Connect(ctx context.Context) error {
	p := &r.pipe
	p.mu.Lock()
	if r.Connected() {
		p.mu.Unlock()
		return nil
	}
	p.connectLocked(false)
	attempt := p.attempt
	p.mu.Unlock()
	if attempt == nil {
		return nil // the request fails, and says why
	}
	select {
	case <-attempt.ended:
		return attempt.err
	case <-ctx.Done():
		return contextEnded(ctx, nil)
	}
}

// RoundTrip is what a small exchange takes at best, see wire.Connector.
func (r *Redis) RoundTrip() time.Duration {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	return r.pipe.rtt
}
