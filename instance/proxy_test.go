//go:build unix

package instance_test

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redlock/instance/internal/relay"
)

// replyFate is what a proxy does with one reply.
type replyFate struct {
	// Delay is how long it is delayed. Later replies on the connection wait.
	Delay time.Duration
	// Copies is how often it is passed on: normally 1; 0 drops it, 2 duplicates it.
	Copies int
	// Cut closes the connection instead.
	Cut bool
}

// passed lets a reply through.
var passed = replyFate{Copies: 1}

// proxy stands between a client and a server and decides the fate of each whole reply. A duplicate
// is a well-formed reply to no command, and each later reply on the connection then belongs to the
// previous command.
type proxy struct {
	relay  *relay.Relay
	target string
	fate   func() replyFate
	close  func()
	done   chan struct{} // closed by close
}

// startProxy starts a proxy in front of a server's TCP address. It calls fate for each reply,
// from several goroutines. The test's end closes it, or Close.
func startProxy(t testing.TB, target string, fate func() replyFate) *proxy {
	t.Helper()
	p := &proxy{target: target, fate: fate, done: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.done) })
	var err error
	if p.relay, err = relay.Listen(p.serve); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// URL is where the proxy listens.
func (p *proxy) URL() string { return "redis://" + p.relay.Addr() }

// Close closes all connections and returns when its goroutines have ended. A second call does
// nothing.
func (p *proxy) Close() {
	p.close()
	p.relay.Close()
}

// serve carries one connection until either side ends it.
func (p *proxy) serve(r *relay.Relay, client net.Conn) {
	server, err := r.Dial(p.target)
	if err != nil {
		return
	}
	defer r.Drop(server)
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
func (p *proxy) replies(client io.Writer, server io.Reader) {
	from := bufio.NewReader(server)
	for {
		reply, err := relay.ReadItem(from, nil)
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
