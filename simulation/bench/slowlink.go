package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// slowLink is a proxy that delays a server's replies, each by the same time, as a long
// distance would.
type slowLink struct {
	listener net.Listener
	target   string
	delay    atomic.Int64
	all      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func newSlowLink(target string) (*slowLink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &slowLink{listener: listener, target: target}
	l.all.Go(l.accept)
	return l, nil
}

func (l *slowLink) addr() string             { return l.listener.Addr().String() }
func (l *slowLink) setDelay(d time.Duration) { l.delay.Store(int64(d)) }

func (l *slowLink) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.all.Wait()
}

func (l *slowLink) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns = append(l.conns, conns...)
	return true
}

func (l *slowLink) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(time.Millisecond) // out of file descriptors; try again
			continue
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil || !l.keep(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		l.all.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		l.all.Go(func() { l.late(client, server) })
	}
}

// piece is a part of a reply, and when it is due.
type piece struct {
	due   time.Time
	bytes []byte
}

func (l *slowLink) late(client, server net.Conn) {
	pieces := make(chan piece, 1<<12)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			_, _ = client.Write(p.bytes) // an error ends the reading side, too
		}
		_ = client.Close()
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if n > 0 {
			pieces <- piece{time.Now().Add(time.Duration(l.delay.Load())), append([]byte(nil), buf[:n]...)}
		}
		if err != nil {
			break
		}
	}
	close(pieces)
	writing.Wait()
}
