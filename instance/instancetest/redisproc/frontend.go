package redisproc

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redquorum/redlock/instance/internal/relay"
)

// Frontend is a proxy that understands the protocol, like twemproxy, Envoy and the proxies of
// managed services. It keeps its clients' connections while its server is away or replaced,
// and answers with an error meanwhile. Unlike a Link, it gives a client no sign that the
// server is another one.
type Frontend struct {
	relay  *relay.Relay
	target atomic.Pointer[string]
}

// NewFrontend starts one on a port of 127.0.0.1, in front of a server's TCP address.
// Close it when done.
func NewFrontend(target string) (*Frontend, error) {
	f := &Frontend{}
	f.target.Store(&target)
	var err error
	if f.relay, err = relay.Listen(f.serve); err != nil {
		return nil, fmt.Errorf("redisproc: starting a proxy: %w", err)
	}
	return f, nil
}

// Addr is where it listens.
func (f *Frontend) Addr() string { return f.relay.Addr() }

// Retarget sends requests to another server, from the next one on.
func (f *Frontend) Retarget(target string) { f.target.Store(&target) }

// Close closes all connections and returns when its goroutines have ended.
func (f *Frontend) Close() error {
	f.relay.Close()
	return nil
}

// backend is the connection to the server for one client.
type backend struct {
	net.Conn
	target  string
	replies *bufio.Reader
}

// serve answers one client's requests one by one.
func (f *Frontend) serve(r *relay.Relay, client net.Conn) {
	requests := bufio.NewReader(client)
	var b *backend
	drop := func() {
		if b != nil {
			r.Drop(b.Conn)
			b = nil
		}
	}
	defer drop()
	for {
		request, err := relay.ReadItem(requests, nil)
		if err != nil {
			return
		}
		if target := *f.target.Load(); b == nil || b.target != target {
			drop()
			if conn, failed := r.Dial(target); failed != nil {
				err = failed
			} else {
				b = &backend{Conn: conn, target: target, replies: bufio.NewReader(conn)}
			}
		}
		var reply []byte
		if err == nil {
			reply, err = b.answer(request)
		}
		if err != nil {
			drop()
			reply = []byte("-ERR server closed the connection\r\n")
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// answer sends a request and returns the reply.
func (b *backend) answer(request []byte) ([]byte, error) {
	if _, err := b.Write(request); err != nil {
		return nil, err
	}
	return relay.ReadItem(b.replies, nil)
}
