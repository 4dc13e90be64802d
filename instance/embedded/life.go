package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// life is a server from its start to its stop: its data, IDs, connections.
type life struct {
	mini     *miniredis.Miniredis
	srv      *server.Server // mini forgets it when it is closed, its last commands still need it
	listener net.Listener   // nil without a port
	accepts  sync.WaitGroup // the goroutine on listener
	runID    string
	replID   string
	started  time.Time
	gate     gate

	ticks   sync.Mutex // the clock is set by one at a time, so it never goes back
	clients sync.Map   // each *server.Peer that has sent a command
}

// begin starts a life on addr, or without a port if that is empty.
func begin(addr string) (*life, error) {
	l := &life{mini: miniredis.NewMiniRedis(), runID: newID(), replID: newID(), started: time.Now()}
	l.gate.over = make(chan struct{})
	l.mini.SetTime(l.started)
	l.mini.ClockTTL(true)

	// The first Dial starts miniredis without a listener of its own: that one
	// would take connections before the hook is set.
	conn, err := l.mini.Dial()
	if err != nil {
		return nil, err
	}
	conn.Close()
	l.srv = l.mini.Server()
	l.srv.SetPreHook(l.hook)
	if addr == "" {
		return l, nil
	}
	if l.listener, err = net.Listen("tcp", addr); err != nil {
		l.mini.Close()
		return nil, err
	}
	l.accepts.Go(func() {
		for {
			conn, err := l.listener.Accept()
			if err != nil {
				return // closed by end
			}
			l.srv.ServeConn(conn)
		}
	})
	return l, nil
}

// newID draws a run ID or a replication ID.
func newID() string {
	var id [20]byte
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(id[:])
}

// end ends the life and waits for its goroutines.
func (l *life) end() {
	close(l.gate.over)
	if l.listener != nil {
		l.listener.Close()
		l.accepts.Wait()
	}
	l.mini.Close()
}

// hook is called with every command, those that scripts call too, before
// miniredis sees it. It reports whether the command is done.
func (l *life) hook(peer *server.Peer, cmd string, args ...string) bool {
	if l.isClient(peer) {
		if !l.gate.pass() {
			peer.Close()
			return true
		}
		l.tick()
	}
	return l.answer(peer, cmd, args)
}

// isClient tells a client's connection from the one that a script calls
// commands through: the script's has its state from birth, a client's gets it
// with its first command.
func (l *life) isClient(peer *server.Peer) bool {
	if _, known := l.clients.Load(peer); known {
		return true
	}
	if peer.Ctx != nil {
		return false
	}
	l.clients.Store(peer, nil)
	peer.OnDisconnect(func() { l.clients.Delete(peer) })
	return true
}

// tick brings the server's clock to now. Between ticks it stands still, so that
// a script sees one moment from its start to its end, as on a real server: a key
// that it found there is there when it writes. SetTime waits for a script that
// runs; a script's own commands don't come here, they would wait for themselves.
func (l *life) tick() {
	l.ticks.Lock()
	defer l.ticks.Unlock()
	l.mini.SetTime(time.Now())
}

// gate holds commands back while it is shut.
type gate struct {
	over chan struct{} // closed at the end of the life

	mu     sync.Mutex
	opened chan struct{} // closed when it opens; nil while it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// pass waits until the gate is open. It reports false when the life is over.
func (g *gate) pass() bool {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return true
		}
		select {
		case <-opened:
		case <-g.over:
			return false
		}
	}
}
