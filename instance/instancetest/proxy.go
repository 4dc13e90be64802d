//go:build unix

package instancetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Fate is what a Proxy does with one reply.
type Fate struct {
	// Delay is how long it is delayed. Later replies on the connection wait.
	Delay time.Duration
	// Copies is how often it is passed on: normally 1; 0 drops it, 2 duplicates it.
	Copies int
	// Cut closes the connection instead.
	Cut bool
}

// Pass lets a reply through.
var Pass = Fate{Copies: 1}

// Proxy stands between a client and a server and decides the fate of each whole reply. A
// duplicate is a well-formed reply to no command, and each later reply on the connection then
// belongs to the command before.
type Proxy struct {
	t        testing.TB
	target   string
	listener net.Listener
	fate     func() Fate

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	done   chan struct{}
	all    sync.WaitGroup
}

// StartProxy starts a Proxy in front of a server's TCP address. It calls fate for each reply,
// from several goroutines. The test's end closes it, or Close.
func StartProxy(t testing.TB, target string, fate func() Fate) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target, listener: listener, fate: fate, conns: make(map[net.Conn]struct{}), done: make(chan struct{})}
	p.all.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr is where the Proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is where the Proxy listens, for package instance.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Close closes all connections and returns when its goroutines have ended. A second call does
// nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
		_ = p.listener.Close()
		for conn := range p.conns {
			_ = conn.Close()
		}
	}
	p.mu.Unlock()
	p.all.Wait()
}

// keep records a connection for Close. It returns false if the Proxy is closed.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if !p.keep(client) {
			_ = client.Close()
			return
		}
		p.all.Go(func() { p.serve(client) })
	}
}

// serve carries one connection until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	if !p.keep(server) {
		_ = server.Close()
		return
	}
	defer p.drop(server)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close() // ends the other direction
	})
	p.replies(client, server)
	_ = client.Close()
	both.Wait()
}

// replies passes the server's replies on, each according to its fate.
func (p *Proxy) replies(client io.Writer, server io.Reader) {
	from := bufio.NewReader(server)
	for {
		reply, err := readReply(from, nil)
		if err != nil {
			return
		}
		fate := p.fate()
		if fate.Delay > 0 {
			select {
			case <-time.After(fate.Delay):
			case <-p.done:
				return
			}
		}
		if fate.Cut {
			return
		}
		for range fate.Copies {
			if _, err := client.Write(reply); err != nil {
				return
			}
		}
	}
}

// readReply appends one whole reply of RESP2 or RESP3 to buf.
func readReply(from *bufio.Reader, buf []byte) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("instancetest: a reply's line is too short")
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
		return nil, fmt.Errorf("instancetest: %q begins no reply", line)
	}
	for ; err == nil && elements > 0; elements-- {
		buf, err = readReply(from, buf)
	}
	return buf, err
}
