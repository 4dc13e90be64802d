package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// link is a connection of the pipe, with the goroutine that sends on it. go-redis makes it and speaks on it, but
// the pipe keeps it: a request that finds no young connection in go-redis's pool would pay for the dial.
type link struct {
	p    *pipe
	conn *redis.Conn
	born drift.Instant // before its dial, or before go-redis's pool gave it away
	wake chan struct{} // receives when there is work, and is closed when the idle link is to end
	x    *exchange

	// Guarded by the pipe's lock.
	calls   []*call   // those that it has sent
	began   time.Time // when it took them
	retired bool      // it ends after its exchange
	due     []*call   // those whose votes it gives, in a buffer that is used again
}

// connect makes a link, within the client's DialTimeout for the dial, TLS and the handshake together.
func (p *pipe) connect(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, p.r.dialTimeout())
	defer cancel()
	l := &link{p: p, wake: make(chan struct{}, 1), born: p.reader.Now()}
	err := l.open(ctx)
	if err == nil {
		return l, nil
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	why := p.notConnected(ctx, err)
	if d := p.r.deployment; d != nil && d.target.Load() != nil && !isUnlocated(err) {
		why = d.blame(*d.target.Load(), why)
	}
	return nil, why
}

// open has go-redis make the connection.
func (l *link) open(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a hook of the caller's client
			err = recovered(p)
		}
	}()
	r, term := l.p.r, ""
	if d := r.deployment; d != nil {
		if term, err = d.find(ctx); err != nil {
			return err
		}
	}
	hits := r.client.PoolStats().Hits
	l.conn = r.client.EphemeralConn()
	// A master that Sentinel brings back in the same run has no mark of its new term.
	l.x = newExchange(r, l.conn.Pipeline(), r.markKey+term)
	// The handshake is over with the first reply. The second one shows how far away the server is.
	if err := l.ping(ctx); err != nil {
		return err
	}
	// It may have been in the pool before, because others use the client.
	if r.client.PoolStats().Hits != hits {
		l.born.Mono -= r.pooled()
		l.born.Wall = l.born.Wall.Add(-r.pooled())
	}
	began := time.Now()
	if err := l.ping(ctx); err != nil {
		return err
	}
	l.p.noteTrip(time.Since(began))
	return nil
}

// ping asks for a reply of any kind: a user may lack the right to PING, and a server that can't save its data
// refuses PING, but not commands that only read.
func (l *link) ping(ctx context.Context) error {
	err := l.conn.Ping(ctx).Err()
	if reply, ok := errors.AsType[redis.Error](err); ok {
		if kind := kindOf(reply.Error()); kind == ErrPermission || kind == ErrCommand || kind == ErrMisconf {
			return nil
		}
	}
	return err
}

// notConnected returns why no connection was made.
func (p *pipe) notConnected(ctx context.Context, err error) error {
	// The dialer and the connection have the same limit, and may see it pass a little before the context does.
	deadline, _ := ctx.Deadline()
	late := !time.Now().Before(deadline) || errors.Is(err, context.DeadlineExceeded)
	why, todo := "no connection was made", "; its address isn't reached, or the server doesn't answer"
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ErrClosed
	case !late:
		return explain(err)
	case isUnlocated(err):
		why, todo = "no master was named", ""
	case p.r.client.Options().TLSConfig != nil && p.trip.Load() == 0:
		why, todo = "the server took the connection and doesn't begin TLS", "; check that the port speaks TLS, or use redis://"
	}
	return fmt.Errorf("%w: %s within Options.DialTimeout, %v%s (%w)", wire.ErrTimeout, why, p.r.dialTimeout(), todo, hideContext{err})
}

// age is how long ago its dial began, as far as is known.
func (l *link) age() time.Duration { return drift.Elapsed(l.born, l.p.reader.Now()) }

// tooOld reports whether nothing may be sent on it any more.
//
// Invariant: Redis.ConnLife is the longest time for which requests reach another server after the
// address has moved. By the larger of two clocks, because a monotonic one stands still while a
// machine is suspended.
func (l *link) tooOld() bool {
	//guard:connection-not-too-old  no request is sent on a connection that is older than ConnLife
	return !l.p.r.fixed() && l.age() > l.p.r.lifetime()
}

// rouse has an idle link take what waits. It does nothing without a link.
func (l *link) rouse() {
	if l != nil {
		l.wake <- struct{}{}
	}
}

// run sends what waits in the pipe until the link ends.
func (l *link) run() {
	p := l.p
	defer func() { _ = l.conn.Close() }()
	for {
		select {
		case _, ok := <-l.wake:
			if !ok {
				return
			}
		case <-p.ctx.Done():
			return
		}
		for {
			calls, end := p.take(l)
			if end {
				return
			}
			if len(calls) == 0 {
				break
			}
			err := l.x.run(calls)
			if p.finish(l, err); err != nil {
				return
			}
		}
	}
}
