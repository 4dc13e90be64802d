//go:build unix

package redisproc

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// direction is a direction over a Link.
type direction uint8

// The directions.
const (
	// Requests go from the client to the server.
	Requests direction = iota
	// Replies go from the server to the client.
	Replies
)

// gate is what a Link does with the pieces in one direction.
type gate struct {
	does                  fault
	waiting, passed, lost int // pieces that are held now, were passed on, were dropped
}

type fault uint8

const (
	passes fault = iota
	holds
	drops
	misses // drops the next piece only
)

// trap catches the first request for which is returns true.
type trap struct {
	is     func(piece []byte) bool // nil when it has caught one
	caught chan struct{}           // closed then
	freed  bool
}

// Link stands between clients and a server. It passes on bytes as they come. A client's write
// is one piece if the client waits for each reply.
//
// Held pieces reach the server even if their client has gone meanwhile, as packets in a
// network do.
type Link struct {
	listener net.Listener
	all      sync.WaitGroup // its goroutines

	mu      sync.Mutex
	changed *sync.Cond
	live    context.Context // of the connections
	hangUp  context.CancelFunc
	refuses bool // new connections
	closed  bool
	target  string
	trip    time.Duration // see Far
	moved   chan struct{} // closed by the next Far
	gates   [2]gate
	trap    *trap // nil: none is set
}

// NewLink starts a Link to a server's TCP address.
func NewLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redisproc: a link to %s: %w", target, err)
	}
	l := &Link{listener: listener, target: target, moved: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	l.live, l.hangUp = context.WithCancel(context.Background())
	l.all.Go(l.accept)
	return l, nil
}

// Addr is where the Link listens.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// do changes the Link, and wakes what waits for that.
func (l *Link) do(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

// Far makes connections as slow as a long distance does: what one side says is half a round trip
// late, and the first bytes of a new connection wait for another round trip. What is on its way when Far
// is called again arrives at once.
func (l *Link) Far(roundTrip time.Duration) {
	l.do(func() {
		l.trip = roundTrip
		close(l.moved)
		l.moved = make(chan struct{})
	})
}

// Hold holds back what goes in one direction, in order, until Reopen or another fault.
func (l *Link) Hold(way direction) { l.do(func() { l.gates[way].does = holds }) }

// Drop drops everything in one direction, also what was held, until Reopen.
func (l *Link) Drop(way direction) { l.do(func() { l.gates[way].does = drops }) }

// Miss drops the next piece in one direction, and no other.
func (l *Link) Miss(way direction) { l.do(func() { l.gates[way].does = misses }) }

// Trap catches the first request for which is returns true, and holds back what follows on
// its connection. It closes the channel when it has caught one. is gets the bytes as they are
// on the wire. Other connections are not affected.
func (l *Link) Trap(is func(piece []byte) bool) (caught <-chan struct{}) {
	t := &trap{is: is, caught: make(chan struct{})}
	l.do(func() { l.trap = t })
	return t.caught
}

// Free passes on what the trap has caught. It removes an empty trap, and does nothing without one.
func (l *Link) Free() {
	l.do(func() {
		if l.trap != nil {
			l.trap.freed, l.trap = true, nil
		}
	})
}

// Cut closes all connections and refuses new ones, until Reopen.
func (l *Link) Cut() {
	l.do(func() {
		l.refuses = true
		l.hangUp()
		l.live, l.hangUp = context.WithCancel(context.Background())
	})
}

// Reopen accepts new connections again, and passes everything on, first what was held.
func (l *Link) Reopen() {
	l.do(func() {
		l.refuses = l.closed
		for i := range l.gates {
			l.gates[i].does = passes
		}
	})
}

// Switch leads new connections to another server. Existing ones stay with the old one until Cut, as
// when an address is moved while both servers run.
func (l *Link) Switch(target string) { l.do(func() { l.target = target }) }

// Waiting returns how many pieces that way are held now.
func (l *Link) Waiting(way direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gates[way].waiting
}

// Passed returns how many pieces that way were passed on.
func (l *Link) Passed(way direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gates[way].passed
}

// Close closes all connections and returns when its goroutines have ended. A second call does
// nothing.
func (l *Link) Close() error {
	l.do(func() {
		l.closed, l.refuses = true, true
		l.hangUp()
	})
	_ = l.listener.Close()
	l.all.Wait()
	return nil
}

// accept serves each connection on a goroutine of its own.
func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.mu.Lock()
		if live, target := l.live, l.target; !l.refuses {
			l.all.Go(func() { l.serve(live, client, target) })
		} else {
			_ = client.Close()
		}
		l.mu.Unlock()
	}
}

// serve carries one connection until it ends, or is cut.
func (l *Link) serve(live context.Context, client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	defer context.AfterFunc(live, func() { _ = client.Close() })()
	l.travel(live, 1)
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	defer context.AfterFunc(live, func() { _ = server.Close() })()
	var both sync.WaitGroup
	both.Go(func() {
		l.carry(live, Requests, server, client)
		// The reply to the last request may still come.
		_ = server.(*net.TCPConn).CloseWrite()
	})
	l.carry(live, Replies, client, server)
	_ = client.Close()
	both.Wait()
}

// carry passes pieces from one side to the other. A piece that was read before a cut reaches the server
// even if its client is gone. What is written after Cut has returned doesn't, although the connections
// are closed a moment later.
func (l *Link) carry(live context.Context, way direction, to io.Writer, from io.Reader) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if live.Err() != nil {
			return
		}
		if n > 0 && l.lets(way, piece[:n]) {
			l.travel(live, 2)
			if _, failed := to.Write(piece[:n]); failed != nil {
				return
			}
			l.do(func() { l.gates[way].passed++ })
		}
		if err != nil {
			return
		}
	}
}

// travel waits for a part of a round trip: all of it, or half. A cut connection waits no longer.
func (l *Link) travel(live context.Context, part time.Duration) {
	l.mu.Lock()
	trip, moved := l.trip, l.moved
	l.mu.Unlock()
	if trip == 0 {
		return
	}
	timer := time.NewTimer(trip / part)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-moved:
	case <-live.Done():
	}
}

// lets waits while a piece is in the trap or held at its gate, and reports whether it is passed on then.
func (l *Link) lets(way direction, piece []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.trap; way == Requests && t != nil && t.is != nil && t.is(piece) {
		t.is = nil
		close(t.caught)
		for !t.freed && !l.closed {
			l.changed.Wait()
		}
	}
	g := &l.gates[way]
	g.waiting++
	for g.does == holds && !l.closed {
		l.changed.Wait()
	}
	g.waiting--
	if g.does == passes && !l.closed {
		return true
	}
	if g.lost++; g.does == misses {
		g.does = passes
	}
	return false
}
