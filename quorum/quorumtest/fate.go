package quorumtest

import (
	"errors"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// The errors of requests, for errors.Is.
var (
	// ErrConnRefused: the server is down, or refuses connections. The request was not
	// sent.
	ErrConnRefused = errors.New("quorumtest: connection refused")
	// ErrConnReset: the connection broke before the reply arrived. The request may have
	// been executed.
	ErrConnReset = errors.New("quorumtest: connection reset")
)

// End is how a request ends.
type End uint8

// The ends.
const (
	// Answer: it is executed, and the reply arrives.
	Answer End = iota
	// LoseRequest: it never arrives. The caller waits until its context ends.
	LoseRequest
	// LoseReply: it is executed, but the reply never arrives. The caller waits until its
	// context ends.
	LoseReply
	// ResetBefore: the connection breaks before it arrives. The caller gets an error at
	// once and can't know that nothing was done.
	ResetBefore
	// ResetAfter: it is executed, and the connection breaks before the reply arrives.
	ResetAfter
	// Refuse: the connection is refused. The caller gets an error at once, Unsent.
	Refuse
)

// Fate is what happens to one request.
type Fate struct {
	// Before is the latency of the request, After of the reply: zero or more. A request is
	// executed when it arrives, even if its caller has given up.
	Before, After time.Duration

	// End is how it ends.
	End End

	// Err, if it isn't nil, is the server's reply, and the request is not executed: as with
	// a full memory or a missing right.
	Err error
}

// SetFate sets the function that decides the fate of every later request and probe (for a
// probe it gets the zero Request). It is called on the goroutine of each caller, possibly on
// several at once. Nil ends that.
//
// It replaces what FailWith, EndWith and Delay have set.
func (s *Server) SetFate(fate func(wire.Request) Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = fate
}

// FailWith makes err the reply to every request, and nothing is executed. Nil ends that.
func (s *Server) FailWith(err error) { s.setEachFate(Fate{Err: err}) }

// EndWith gives every request this end. EndWith(Answer) ends that.
func (s *Server) EndWith(end End) { s.setEachFate(Fate{End: end}) }

func (s *Server) setEachFate(fate Fate) { s.SetFate(func(wire.Request) Fate { return fate }) }

// Delay gives every request the latency before(cmd), and every reply after(cmd). Either may
// be nil.
func (s *Server) Delay(before, after func(wire.Request) time.Duration) {
	s.SetFate(func(cmd wire.Request) Fate {
		var fate Fate
		if before != nil {
			fate.Before = before(cmd)
		}
		if after != nil {
			fate.After = after(cmd)
		}
		return fate
	})
}
