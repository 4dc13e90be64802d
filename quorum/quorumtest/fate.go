package quorumtest

import (
	"errors"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// What a command fails with, for errors.Is.
var (
	// ErrConnRefused: the server is down, or refuses connections. The command
	// was not sent.
	ErrConnRefused = errors.New("quorumtest: connection refused")
	// ErrConnReset: the connection broke while the answer was awaited. The
	// command may have been carried out.
	ErrConnReset = errors.New("quorumtest: connection reset")
)

// End is how a command's journey to the server and back ends.
type End uint8

// The ends.
const (
	// Answer: it is carried out and answered. The only good end.
	Answer End = iota
	// LoseRequest: it never arrives. The caller waits until its context ends.
	LoseRequest
	// LoseReply: it is carried out, but the answer never arrives. The caller
	// waits until its context ends.
	LoseReply
	// ResetBefore: the connection breaks before it arrives. The caller fails
	// at once and can't know that nothing was done.
	ResetBefore
	// ResetAfter: it is carried out, and the connection breaks before the
	// answer arrives.
	ResetAfter
	// Refuse: the connection is refused; the caller fails at once, Unsent.
	Refuse
)

// Fate is what becomes of one command.
type Fate struct {
	// Before is the time from sending to arrival, After from the answer to its
	// arrival: zero or more. A command that is under way is carried out when it
	// arrives, though its caller may have given up.
	Before, After time.Duration

	// End is how it ends.
	End End

	// Err, if it isn't nil, is what the server answers instead of carrying the
	// command out, as a full memory or a missing right would.
	Err error
}

// SetFate sets what decides the fate of every later command and probe (for a
// probe the command is the zero one, Op 0). It is called from the goroutine of
// each caller, possibly from several at once. Nil means that all goes well.
//
// It replaces what FailWith, Delay, and the like have set.
func (s *Server) SetFate(fate func(wire.Request) Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = fate
}

// FailWith makes the server answer every command with err, carrying nothing
// out. Nil ends it.
func (s *Server) FailWith(err error) {
	if err == nil {
		s.SetFate(nil)
		return
	}
	s.SetFate(func(wire.Request) Fate { return Fate{Err: err} })
}

// EndWith gives every command the end; EndWith(Answer) makes all well again.
func (s *Server) EndWith(end End) {
	if end == Answer {
		s.SetFate(nil)
		return
	}
	s.SetFate(func(wire.Request) Fate { return Fate{End: end} })
}

// Delay makes every command take the time before(cmd) to the server and
// after(cmd) back. Either may be nil, for no time.
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
