package embedded

import (
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

	// switching is held while the server is started or stopped.
	switching sync.Mutex
	closed    bool

	mu   sync.Mutex // never held while waiting
	addr string     // from the first start on
	run  *run       // nil while it is stopped
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
	s.switching.Lock()
	defer s.switching.Unlock()
	s.stop()
}

// Start starts a stopped server: empty, with a new run ID, on its old address. It does
// nothing if the server runs.
//
// It fails if another process has taken the port meanwhile, or with ErrClosed.
func (s *Server) Start() error {
	s.switching.Lock()
	defer s.switching.Unlock()
	return s.start()
}

// Restart is Stop and Start.
func (s *Server) Restart() error {
	s.switching.Lock()
	defer s.switching.Unlock()
	s.stop()
	return s.start()
}

// Pause makes the server answer nothing, as SIGSTOP does: connections stay and new ones are
// accepted, but commands wait in their buffers.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		s.run.gate.shut()
	}
}

// Resume ends a Pause. The commands that were sent meanwhile are carried out now, also those
// of clients that have given up. Stop ends a pause, too, and carries out nothing.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		s.run.gate.open()
	}
}

func (s *Server) start() error {
	s.mu.Lock()
	running, addr := s.run != nil, s.addr
	s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: %s can't be started again", ErrClosed, s.name)
	}
	if running {
		return nil
	}
	if s.piped {
		addr = ""
	} else if addr == "" {
		addr = "127.0.0.1:0"
	}
	r, err := begin(addr)
	if err != nil {
		return fmt.Errorf("embedded: starting %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.addr = r, s.name
	if r.listener != nil {
		s.addr = r.listener.Addr().String()
	}
	return nil
}

func (s *Server) stop() {
	s.mu.Lock()
	r := s.run
	s.run = nil
	s.mu.Unlock()
	if r != nil {
		r.end()
	}
}

func (s *Server) close() {
	s.switching.Lock()
	defer s.switching.Unlock()
	s.stop()
	s.closed = true
}
