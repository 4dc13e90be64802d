package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrStopped: the server is stopped and accepts no connections.
var ErrStopped = errors.New("embedded: server is stopped")

// Server is one server of a Cluster.
type Server struct {
	name  string
	piped bool

	mu     sync.Mutex
	addr   string // from the first start on
	run    *run   // nil while it is stopped
	closed bool
}

// Name returns the name of the server's instance.
func (s *Server) Name() string { return s.name }

// Addr returns the server's address, which restarts don't change: host:port, or its name
// after StartPiped.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// RunID names this run of the server. It is empty while the server is stopped.
func (s *Server) RunID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return ""
	}
	return s.run.runID
}

// Dial returns a connection to the server inside the process. Its error Is ErrStopped.
func (s *Server) Dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil, fmt.Errorf("%w: %s", ErrStopped, s.name)
	}
	conn, err := s.run.mini.Dial()
	if err != nil {
		return nil, err
	}
	return &bufferedConn{Conn: conn}, nil
}

// Stop ends the server as a crash does: its connections break, its data is gone, and new
// connections are refused. Stop returns when the server's goroutines have ended. It does
// nothing if the server is stopped.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// Start starts a stopped server: empty, with a new run ID, on its old address. It does
// nothing if the server runs.
//
// It fails if another process has taken the port meanwhile, or with ErrClosed.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start()
}

// Restart is Stop and Start.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	return s.start()
}

// Pause makes the server answer nothing, as SIGSTOP does: connections stay and new ones are
// accepted, but commands wait in their buffers.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && s.run.paused.Load() == nil {
		paused := make(chan struct{})
		s.run.paused.Store(&paused)
	}
}

// Resume ends a Pause. The commands that were sent meanwhile are carried out now, also those
// of clients that have given up. Stop ends a pause, too, and carries out nothing.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		if paused := s.run.paused.Swap(nil); paused != nil {
			close(*paused)
		}
	}
}

func (s *Server) start() error {
	switch {
	case s.closed:
		return fmt.Errorf("%w: %s can't be started again", ErrClosed, s.name)
	case s.run != nil:
		return nil
	}
	addr := cmp.Or(s.addr, "127.0.0.1:0")
	if s.piped {
		addr = ""
	}
	r, err := begin(addr)
	if err != nil {
		return fmt.Errorf("embedded: starting %s: %w", s.name, err)
	}
	s.run, s.addr = r, s.name
	if !s.piped {
		s.addr = r.mini.Addr()
	}
	return nil
}

func (s *Server) stop() {
	if s.run != nil {
		s.run.end()
		s.run = nil
	}
}

func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.closed = true
}
