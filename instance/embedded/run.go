package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// run is one run of a server, from its start to its stop: its data, IDs and connections.
type run struct {
	mini     *miniredis.Miniredis
	srv      *server.Server // mini drops it when it is closed, but its last commands need it
	listener net.Listener   // nil without a port
	accepts  sync.WaitGroup // the goroutine on listener
	runID    string
	replID   string
	started  time.Time
	paused   atomic.Pointer[chan struct{}] // closed at the end of a pause; nil if there is none
	over     chan struct{}                 // closed at the end of the run

	ticks   sync.Mutex // held while the clock is set, so that it never goes back
	clients sync.Map   // each *server.Peer that has sent a command
}

// begin starts a run on addr, or without a port if that is empty.
func begin(addr string) (*run, error) {
	r := &run{mini: miniredis.NewMiniRedis(), runID: newID(), replID: newID(), started: time.Now(), over: make(chan struct{})}
	r.mini.SetTime(r.started)
	r.mini.ClockTTL(true)

	// The first Dial starts miniredis without its own listener, which would accept
	// connections before the hook is set.
	conn, err := r.mini.Dial()
	if err != nil {
		return nil, err
	}
	conn.Close()
	r.srv = r.mini.Server()
	r.srv.SetPreHook(r.hook)
	if addr == "" {
		return r, nil
	}
	if r.listener, err = net.Listen("tcp", addr); err != nil {
		r.mini.Close()
		return nil, err
	}
	r.accepts.Go(func() {
		for {
			conn, err := r.listener.Accept()
			if err != nil {
				return // end has closed it
			}
			r.srv.ServeConn(conn)
		}
	})
	return r, nil
}

// newID makes a random run ID or replication ID.
func newID() string {
	var id [20]byte
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(id[:])
}

// end ends the run and waits for its goroutines.
func (r *run) end() {
	close(r.over)
	if r.listener != nil {
		r.listener.Close()
		r.accepts.Wait()
	}
	r.mini.Close()
}

// hook is called for every command, also those of scripts, before miniredis sees it. It
// reports whether the command is done.
func (r *run) hook(peer *server.Peer, cmd string, args ...string) bool {
	client := r.isClient(peer)
	if client {
		if !r.pass() {
			peer.Close()
			return true
		}
		r.tick()
	}
	return r.answer(peer, client, cmd, args)
}

// isClient tells a client's connection from the one through which a script calls commands: a
// script's has its state from the start, a client's gets it with its first command.
func (r *run) isClient(peer *server.Peer) bool {
	if _, known := r.clients.Load(peer); known {
		return true
	}
	if peer.Ctx != nil {
		return false
	}
	r.clients.Store(peer, nil)
	peer.OnDisconnect(func() { r.clients.Delete(peer) })
	return true
}

// tick sets the server's clock to now. Between ticks it stands still, so that a script sees
// one moment from its start to its end, as on a real server: a key that it has read does not
// expire before it writes. SetTime waits for a running script. A script's own commands must
// not call tick, because they would wait for themselves.
func (r *run) tick() {
	r.ticks.Lock()
	defer r.ticks.Unlock()
	r.mini.SetTime(time.Now())
}

// pass waits for the end of a pause. It returns false if the run ends first.
func (r *run) pass() bool {
	for paused := r.paused.Load(); paused != nil; paused = r.paused.Load() {
		select {
		case <-*paused:
		case <-r.over:
			return false
		}
	}
	return true
}
