package redisproc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Frontend is a proxy that understands the protocol, like twemproxy, Envoy and the proxies of
// managed services. It keeps its clients' connections while its server is away or replaced,
// and answers with an error meanwhile. Unlike a Link, it gives a client no sign that the
// server is another one.
type Frontend struct {
	listener net.Listener
	target   atomic.Pointer[string]

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	all    sync.WaitGroup
}

// NewFrontend starts one on a port of 127.0.0.1, in front of a server's TCP address.
// Close it when done.
func NewFrontend(target string) (*Frontend, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redisproc: starting a proxy: %w", err)
	}
	f := &Frontend{listener: listener, conns: make(map[net.Conn]struct{})}
	f.target.Store(&target)
	f.all.Go(f.accept)
	return f, nil
}

// Addr is where it listens.
func (f *Frontend) Addr() string { return f.listener.Addr().String() }

// Retarget sends requests to another server, from the next one on.
func (f *Frontend) Retarget(target string) { f.target.Store(&target) }

// Close closes all connections and returns when its goroutines have ended.
func (f *Frontend) Close() error {
	f.mu.Lock()
	f.closed = true
	err := f.listener.Close()
	for conn := range f.conns {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.all.Wait()
	return err
}

// keep records a connection for Close. It returns false if the Frontend is closed.
func (f *Frontend) keep(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = conn.Close()
		return false
	}
	f.conns[conn] = struct{}{}
	return true
}

func (f *Frontend) drop(conn net.Conn) {
	_ = conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, conn)
}

func (f *Frontend) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		if !f.keep(client) {
			return
		}
		f.all.Go(func() { f.serve(client) })
	}
}

// backend is the connection to the server for one client.
type backend struct {
	net.Conn
	target  string
	replies *bufio.Reader
}

// serve answers one client's requests one by one.
func (f *Frontend) serve(client net.Conn) {
	defer f.drop(client)
	requests := bufio.NewReader(client)
	var b *backend
	defer func() {
		if b != nil {
			f.drop(b.Conn)
		}
	}()
	for {
		var request, reply strings.Builder
		if copyItem(&request, requests) != nil {
			return
		}
		target := *f.target.Load()
		if b != nil && b.target != target {
			f.drop(b.Conn)
			b = nil
		}
		err := error(nil)
		if b == nil {
			if b, err = f.dial(target); err != nil {
				b = nil
			}
		}
		if err == nil {
			if _, err = io.WriteString(b, request.String()); err == nil {
				err = copyItem(&reply, b.replies)
			}
			if err != nil {
				f.drop(b.Conn)
				b = nil
			}
		}
		text := reply.String()
		if err != nil {
			text = "-ERR server closed the connection\r\n"
		}
		if _, err := io.WriteString(client, text); err != nil {
			return
		}
	}
}

func (f *Frontend) dial(target string) (*backend, error) {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	if !f.keep(conn) {
		return nil, net.ErrClosed
	}
	return &backend{Conn: conn, target: target, replies: bufio.NewReader(conn)}, nil
}

// copyItem copies one request or reply of RESP2.
func copyItem(to io.Writer, from *bufio.Reader) error {
	line, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if _, err := io.WriteString(to, line); err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '*':
		for ; err == nil && n > 0; n-- {
			err = copyItem(to, from)
		}
		return err
	case '$':
		if err == nil && n >= 0 {
			_, err = io.CopyN(to, from, int64(n)+2)
		}
		return err
	}
	return nil
}
