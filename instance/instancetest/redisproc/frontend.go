//go:build unix

package redisproc

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redquorum/redlock/instance/internal/relay"
)

// Frontend is a proxy that understands the protocol, like twemproxy, Envoy and the proxies of
// managed services. It keeps its clients' connections while its server is away or replaced,
// and answers with an error meanwhile. Unlike a Link, it gives a client no sign that the
// server is another one.
type Frontend struct {
	relay *relay.Relay
	route atomic.Pointer[Route]
}

// Route is the address of the server that a request goes to, or an error, which begins with "-",
// that the Frontend answers itself.
type Route func(request []byte) string

// NewFrontend starts one on a port of 127.0.0.1, in front of a server's TCP address.
// Close it when done.
func NewFrontend(target string) (*Frontend, error) {
	f := &Frontend{}
	f.Retarget(target)
	var err error
	if f.relay, err = relay.Listen(f.serve); err != nil {
		return nil, fmt.Errorf("redisproc: starting a proxy: %w", err)
	}
	return f, nil
}

// Addr is where it listens.
func (f *Frontend) Addr() string { return f.relay.Addr() }

// Retarget sends requests to another server, from the next one on.
func (f *Frontend) Retarget(target string) { f.Route(func([]byte) string { return target }) }

// Route sends each request to the server that the function names, from the next one on.
func (f *Frontend) Route(route Route) { f.route.Store(&route) }

// Close closes all connections and returns when its goroutines have ended.
func (f *Frontend) Close() error {
	f.relay.Close()
	return nil
}

// backend is the connection to a server for one client.
type backend struct {
	net.Conn
	replies *bufio.Reader
}

// serve answers one client's requests one by one.
func (f *Frontend) serve(r *relay.Relay, client net.Conn) {
	requests, backends := bufio.NewReader(client), map[string]*backend{}
	defer func() {
		for _, b := range backends {
			r.Drop(b.Conn)
		}
	}()
	for {
		request, err := relay.ReadItem(requests, nil)
		if err != nil {
			return
		}
		target := (*f.route.Load())(request)
		reply := []byte(target)
		if !strings.HasPrefix(target, "-") {
			reply = answer(r, backends, target, request)
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// answer sends a request to a server and returns the reply, or an error reply of its own.
func answer(r *relay.Relay, backends map[string]*backend, target string, request []byte) []byte {
	b := backends[target]
	if b == nil {
		conn, err := r.Dial(target)
		if err != nil {
			return lost
		}
		b = &backend{conn, bufio.NewReader(conn)}
		backends[target] = b
	}
	if _, err := b.Write(request); err == nil {
		if reply, err := relay.ReadItem(b.replies, nil); err == nil {
			return reply
		}
	}
	r.Drop(b.Conn)
	delete(backends, target)
	return lost
}

var lost = []byte("-ERR server closed the connection\r\n")
