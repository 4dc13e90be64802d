// Package relay has what the proxies for tests share: connections that they can close, and
// whole requests and replies.
package relay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// Relay listens on a port of 127.0.0.1 and serves each connection on a goroutine of its own.
type Relay struct {
	listener net.Listener
	serve    func(r *Relay, client net.Conn)

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	refuses bool
	closed  bool
	all     sync.WaitGroup
}

// Listen starts a Relay. serve need not close the client's connection.
func Listen(serve func(r *Relay, client net.Conn)) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: listener, serve: serve, conns: map[net.Conn]struct{}{}}
	r.all.Go(r.accept)
	return r, nil
}

// Addr is where the Relay listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		if r.keep(client) {
			r.all.Go(func() {
				defer r.Drop(client)
				r.serve(r, client)
			})
		}
	}
}

// Dial connects to a server. Drop closes the connection, or HangUp.
func (r *Relay) Dial(target string) (net.Conn, error) {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	if !r.keep(conn) {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// keep records a connection for HangUp. It closes it if connections are refused.
func (r *Relay) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		_ = conn.Close()
		return false
	}
	r.conns[conn] = struct{}{}
	return true
}

// Drop closes a connection.
func (r *Relay) Drop(conn net.Conn) {
	_ = conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
}

// Refuse refuses new connections from now on, or ends that.
func (r *Relay) Refuse(refuses bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = refuses || r.closed
}

// HangUp closes all connections.
func (r *Relay) HangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		_ = conn.Close()
	}
}

// Close closes all connections and returns when all goroutines have ended. A second call does
// nothing.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed, r.refuses = true, true
	r.mu.Unlock()
	_ = r.listener.Close()
	r.HangUp()
	r.all.Wait()
}

// ReadItem appends one whole request or reply of RESP2 or RESP3 to buf.
func ReadItem(from *bufio.Reader, buf []byte) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("relay: the line is too short")
	}
	buf = append(buf, line...)
	text := string(line[1 : len(line)-2])
	elements := 0
	switch line[0] {
	case '$', '=', '!':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return buf, err // the null of RESP2
		}
		body := make([]byte, n+2)
		if _, err := io.ReadFull(from, body); err != nil {
			return nil, err
		}
		return append(buf, body...), nil
	case '*', '~', '>':
		elements, err = strconv.Atoi(text)
	case '%':
		elements, err = strconv.Atoi(text)
		elements *= 2
	case '|': // attributes come before the reply itself
		elements, err = strconv.Atoi(text)
		elements = elements*2 + 1
	case '+', '-', ':', '_', '#', ',', '(':
	default:
		return nil, fmt.Errorf("relay: %q begins no request or reply", line)
	}
	for ; err == nil && elements > 0; elements-- {
		buf, err = ReadItem(from, buf)
	}
	return buf, err
}
