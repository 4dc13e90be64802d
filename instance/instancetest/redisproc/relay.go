//go:build unix

package redisproc

import (
	"net"
	"sync"
)

// relay listens on a port of 127.0.0.1 and serves each connection on a goroutine of its own.
type relay struct {
	listener net.Listener
	serve    func(r *relay, client net.Conn)

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	refuses bool
	closed  bool
	all     sync.WaitGroup
}

// listen starts a relay. serve need not close the client's connection.
func listen(serve func(r *relay, client net.Conn)) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, serve: serve, conns: map[net.Conn]struct{}{}}
	r.all.Go(r.accept)
	return r, nil
}

// addr is where the relay listens.
func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		if r.keep(client) {
			r.all.Go(func() {
				defer r.drop(client)
				r.serve(r, client)
			})
		}
	}
}

// dial connects to a server. drop closes the connection, or hangUp.
func (r *relay) dial(target string) (net.Conn, error) {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	if !r.keep(conn) {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// keep records a connection for hangUp. It closes it if connections are refused.
func (r *relay) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		_ = conn.Close()
		return false
	}
	r.conns[conn] = struct{}{}
	return true
}

// drop closes a connection.
func (r *relay) drop(conn net.Conn) {
	_ = conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
}

// refuse refuses new connections from now on, or ends that.
func (r *relay) refuse(refuses bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = refuses || r.closed
}

// hangUp closes all connections.
func (r *relay) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		_ = conn.Close()
	}
}

// close closes all connections and returns when all goroutines have ended. A second call does
// nothing.
func (r *relay) close() {
	r.mu.Lock()
	r.closed, r.refuses = true, true
	r.mu.Unlock()
	_ = r.listener.Close()
	r.hangUp()
	r.all.Wait()
}
