//go:build unix

package redisproc

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// gate is what a Link does with the data in one direction.
type gate uint8

// The gates.
const (
	open gate = iota
	held
	shut
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
	conns   map[net.Conn]struct{}
	refuses bool // new connections
	target  string
	trip    time.Duration // see Far
	gates   [2]gate
	closed  bool
	waiting [2]int  // pieces that are held, each way
	passed  [2]int  // pieces that were passed on, each way
	lost    [2]int  // pieces that were dropped at a gate, each way
	misses  [2]bool // the next piece is dropped, see Miss

	trap   func(piece []byte) bool // nil: none is set
	caught chan struct{}           // closed when the trap has a piece
	freed  chan struct{}           // closed when the piece is freed
}

// NewLink starts a Link to a server's TCP address.
func NewLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redisproc: a link to %s: %w", target, err)
	}
	l := &Link{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	l.changed = sync.NewCond(&l.mu)
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

// Far makes new connections as slow as a long distance does: what one side says is half a round trip
// late, and the first bytes of a connection wait for another round trip.
func (l *Link) Far(roundTrip time.Duration) { l.do(func() { l.trip = roundTrip }) }

// Hold holds back what goes in one direction, in order, until Reopen or Drop.
func (l *Link) Hold(way direction) { l.do(func() { l.gates[way] = held }) }

// Drop drops everything in one direction, also what was held, until Reopen.
func (l *Link) Drop(way direction) { l.do(func() { l.gates[way] = shut }) }

// Miss drops the next piece in one direction, and no other.
func (l *Link) Miss(way direction) { l.do(func() { l.misses[way] = true }) }

// Trap catches the first request for which is returns true, and holds back what follows on
// its connection. It closes the channel when it has caught one. is gets the bytes as they are
// on the wire. Other connections are not affected.
func (l *Link) Trap(is func(piece []byte) bool) (caught <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap, l.caught, l.freed = is, make(chan struct{}), make(chan struct{})
	return l.caught
}

// Free passes on what the trap has caught. It removes an empty trap, and does nothing without one.
func (l *Link) Free() {
	l.do(func() {
		if l.freed != nil {
			close(l.freed)
			l.trap, l.freed = nil, nil
		}
	})
}

// Cut closes all connections and refuses new ones, until Reopen.
func (l *Link) Cut() {
	l.do(func() {
		l.refuses = true
		l.hangUp()
	})
}

// Reopen accepts new connections again, and passes everything on, first what was held.
func (l *Link) Reopen() {
	l.do(func() { l.refuses, l.gates, l.misses = l.closed, [2]gate{}, [2]bool{} })
}

// Switch leads new connections to another server. Existing ones stay with the old one, as
// when an address is moved while both servers run.
func (l *Link) Switch(target string) { l.do(func() { l.target = target }) }

// Retarget closes all connections and leads new ones to another server.
func (l *Link) Retarget(target string) {
	l.do(func() {
		l.target = target
		l.hangUp()
	})
}

// hangUp closes all connections. The caller holds mu.
func (l *Link) hangUp() {
	for conn := range l.conns {
		_ = conn.Close()
	}
}

// Waiting returns how many pieces that way are held now.
func (l *Link) Waiting(way direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting[way]
}

// Passed returns how many pieces that way were passed on.
func (l *Link) Passed(way direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed[way]
}

// Close closes all connections and returns when its goroutines have ended. A second call does
// nothing.
func (l *Link) Close() error {
	l.do(func() {
		l.closed, l.refuses = true, true
		l.hangUp()
	})
	l.Free()
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
		if l.keep(client) {
			l.all.Go(func() {
				defer l.drop(client)
				l.serve(client)
			})
		}
	}
}

// keep records a connection for hangUp. It closes it if connections are refused.
func (l *Link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses {
		_ = conn.Close()
		return false
	}
	l.conns[conn] = struct{}{}
	return true
}

// drop closes a connection.
func (l *Link) drop(conn net.Conn) {
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// serve carries one connection until it ends.
func (l *Link) serve(client net.Conn) {
	l.mu.Lock()
	target, trip := l.target, l.trip
	l.mu.Unlock()
	time.Sleep(trip)
	server, err := net.Dial("tcp", target)
	if err != nil || !l.keep(server) {
		return
	}
	defer l.drop(server)
	l.mu.Lock()
	moved := l.target != target
	l.mu.Unlock()
	if moved { // while it was dialed
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		l.carry(Requests, server, client, trip/2)
		// The reply to the last request may still come.
		_ = server.(*net.TCPConn).CloseWrite()
	})
	l.carry(Replies, client, server, trip/2)
	_ = client.Close()
	both.Wait()
}

// carry passes pieces from one side to the other. A piece that was read reaches the server
// even if its client is gone.
func (l *Link) carry(way direction, to io.Writer, from io.Reader, late time.Duration) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && l.escapes(way, piece[:n]) && l.passes(way) {
			time.Sleep(late)
			if _, failed := to.Write(piece[:n]); failed != nil {
				return
			}
			l.do(func() { l.passed[way]++ })
		}
		if err != nil {
			return
		}
	}
}

// escapes waits while the piece is in the trap, and reports whether it goes on.
func (l *Link) escapes(way direction, piece []byte) bool {
	l.mu.Lock()
	if way != Requests || l.trap == nil || !l.trap(piece) {
		l.mu.Unlock()
		return true
	}
	l.trap = nil
	freed := l.freed
	close(l.caught)
	l.mu.Unlock()
	<-freed
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed
}

// passes waits while the gate is held, and reports whether it is open then.
func (l *Link) passes(way direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[way]++
	for l.gates[way] == held && !l.closed {
		l.changed.Wait()
	}
	l.waiting[way]--
	if l.gates[way] == open && !l.misses[way] && !l.closed {
		return true
	}
	l.misses[way] = false
	l.lost[way]++
	return false
}
