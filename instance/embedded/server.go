package embedded

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrStopped: the server is stopped and takes no connections.
var ErrStopped = errors.New("embedded: server is stopped")

// Server is one server of a Cluster.
type Server struct {
	name  string
	piped bool

	// turn is held by whoever starts or stops the server.
	turn   sync.Mutex
	closed bool

	mu   sync.Mutex // never held while anything is waited for
	addr string     // from the first start on
	life *life      // nil while it is stopped
}

// Name gives the name of the server's instance.
func (s *Server) Name() string { return s.name }

// Addr gives the server's address, which it keeps over restarts: host:port, or
// its name after StartPiped.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// RunID names this run of the server. It is empty while the server is stopped.
func (s *Server) RunID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return ""
	}
	return s.life.runID
}

// Dial gives a connection to the server inside the process. Its error Is
// ErrStopped.
func (s *Server) Dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return nil, fmt.Errorf("%w: %s", ErrStopped, s.name)
	}
	conn, err := s.life.mini.Dial()
	if err != nil {
		return nil, err
	}
	return &roomy{Conn: conn}, nil
}

// Stop ends the server as a crash does: its connections break, its data is
// gone, and connections are refused. When it returns, nothing of the server
// runs. A server that is stopped stays as it is.
func (s *Server) Stop() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.stop()
}

// Start starts a server that was stopped: empty, with a new run ID, on its old
// address. A server that runs stays as it is.
//
// It fails if somebody else has taken the port meanwhile, or with ErrClosed.
func (s *Server) Start() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.start()
}

// Restart is Stop and Start.
func (s *Server) Restart() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.stop()
	return s.start()
}

// Pause makes the server answer nothing, as a SIGSTOP does: connections stay
// and new ones are taken, but what is sent waits in their buffers.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.life.gate.shut()
	}
}

// Resume ends Pause. What was sent meanwhile is carried out now, also for
// clients that have given up. Stop ends a pause, too, and carries out nothing.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.life.gate.open()
	}
}

func (s *Server) start() error {
	s.mu.Lock()
	running, addr := s.life != nil, s.addr
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
	l, err := begin(addr)
	if err != nil {
		return fmt.Errorf("embedded: starting %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life, s.addr = l, s.name
	if l.listener != nil {
		s.addr = l.listener.Addr().String()
	}
	return nil
}

func (s *Server) stop() {
	s.mu.Lock()
	l := s.life
	s.life = nil
	s.mu.Unlock()
	if l != nil {
		l.end()
	}
}

func (s *Server) close() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.stop()
	s.closed = true
}
