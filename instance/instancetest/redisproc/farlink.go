//go:build unix

package redisproc

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/instance/internal/relay"
)

// FarLink stands between clients and a server, and passes on bytes as late as a long distance would:
// half a round trip each way, and another round trip for TCP's handshake, before the first bytes of
// a connection.
type FarLink struct {
	relay  *relay.Relay
	target string
	trip   time.Duration
	setup  time.Duration
	conns  atomic.Int64
	closed chan struct{}
	end    func()
}

// NewFarLink starts a FarLink to a server's TCP address. setup is how much longer a connection takes
// to make.
func NewFarLink(target string, roundTrip, setup time.Duration) (*FarLink, error) {
	l := &FarLink{target: target, trip: roundTrip, setup: setup, closed: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.closed) })
	var err error
	if l.relay, err = relay.Listen(l.serve); err != nil {
		return nil, fmt.Errorf("redisproc: a far link to %s: %w", target, err)
	}
	return l, nil
}

// Addr is where the FarLink listens.
func (l *FarLink) Addr() string { return l.relay.Addr() }

// Connections is how many connections were made.
func (l *FarLink) Connections() int { return int(l.conns.Load()) }

// Close closes all connections and returns when its goroutines have ended. A second call does
// nothing.
func (l *FarLink) Close() error {
	l.end()
	l.relay.Close()
	return nil
}

func (l *FarLink) serve(r *relay.Relay, client net.Conn) {
	l.conns.Add(1)
	server, err := r.Dial(l.target)
	if err != nil {
		return
	}
	defer r.Drop(server)
	open := time.Now().Add(l.trip + l.setup)
	var both sync.WaitGroup
	both.Go(func() { l.carry(server, client, open) })
	l.carry(client, server, open)
	_ = client.Close()
	both.Wait()
}

// latePiece is a piece of what one side has said, and when it arrives.
type latePiece struct {
	at    time.Time
	bytes []byte
}

// carry passes pieces on, each half a round trip late, and none before the connection is open.
func (l *FarLink) carry(to, from net.Conn, open time.Time) {
	pieces := make(chan latePiece, 1024)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range pieces {
			select {
			case <-time.After(time.Until(p.at)):
				_, _ = to.Write(p.bytes) // an error ends the reading side, too
			case <-l.closed:
			}
		}
		_ = to.Close()
	})
	for {
		buf := make([]byte, 16<<10)
		n, err := from.Read(buf)
		if n > 0 {
			at := time.Now()
			if at.Before(open) {
				at = open
			}
			pieces <- latePiece{at.Add(l.trip / 2), buf[:n]}
		}
		if err != nil {
			break
		}
	}
	close(pieces)
	writing.Wait()
}

var _ io.Closer = (*FarLink)(nil)
