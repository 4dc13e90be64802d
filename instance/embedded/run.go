package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// run is one run of a server, from its start to its stop: its data, IDs and connections.
type run struct {
	mini    *miniredis.Miniredis
	srv     *server.Server // mini drops it when it is closed, but its last commands need it
	runID   string
	replID  string
	started time.Time
	paused  atomic.Pointer[chan struct{}] // closed at the end of a pause; nil if there is none
	over    chan struct{}                 // closed at the end of the run
}

// begin starts a run on addr, or without a port if that is empty.
func begin(addr string) (*run, error) {
	r := &run{mini: miniredis.NewMiniRedis(), runID: newID(), replID: newID(), started: time.Now(), over: make(chan struct{})}
	r.mini.ClockTTL(true)
	r.mini.SetError("LOADING until the hook is set")
	if addr != "" {
		if err := r.mini.StartAddr(addr); err != nil {
			return nil, err
		}
	} else if conn, err := r.mini.Dial(); err != nil { // the first Dial starts it
		return nil, err
	} else {
		conn.Close()
	}
	r.srv = r.mini.Server()
	r.srv.SetPreHook(r.hook)
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
	r.mini.Close()
}

// hook is called for every command, also those of scripts, before miniredis sees it. It
// reports whether the command is done. In a pause it waits.
func (r *run) hook(peer *server.Peer, cmd string, args ...string) bool {
	for paused := r.paused.Load(); paused != nil; paused = r.paused.Load() {
		select {
		case <-*paused:
		case <-r.over:
			peer.WriteError("ERR the server is stopped") // a script waits for a reply
			peer.Close()
			return true
		}
	}
	return r.answer(peer, cmd, args)
}
