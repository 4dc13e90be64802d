package quorumtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum"
)

// starting is a Server that is a Starter, with one rule broken if start is set.
type starting struct {
	*Server
	start func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver)
}

func (s starting) Start(cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
	if s.start != nil {
		s.start(s.Server, cmd, timeout, to)
		return
	}
	Started(s.Server, nil, cmd, timeout, to)
}

// receive is a Receiver of one function.
type receive func(quorum.Vote)

func (f receive) Receive(vote quorum.Vote) { f(vote) }

func TestStartingServerPassesCheck(t *testing.T) {
	Check(t, func(*testing.T) quorum.Instance { return starting{Server: NewServer("a", nil)} }, Virtual(), Skew(0))
}

// TestCheckFindsStartMutants: each broken Start fails the part that is about it.
func TestCheckFindsStartMutants(t *testing.T) {
	for name, mutant := range map[string]struct {
		part  string
		start func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver)
	}{
		"votes twice": {"start: one vote for each", func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
			Started(s, nil, cmd, timeout, receive(func(vote quorum.Vote) { to.Receive(vote); to.Receive(vote) }))
		}},
		"says unsent of what it sent": {"start: a time-out", func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
			Started(s, nil, cmd, patience, receive(func(vote quorum.Vote) {
				if timeout < time.Millisecond {
					vote = quorum.Vote{Unsent: true, Err: context.DeadlineExceeded}
				}
				to.Receive(vote)
			}))
		}},
		"calls a time-out something else": {"start: a time-out", func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
			if timeout < time.Millisecond {
				to.Receive(quorum.Vote{Unsent: true, Err: errors.New("no")})
				return
			}
			Started(s, nil, cmd, timeout, to)
		}},
		"forgets the fence": {"tokens rise", func(s *Server, cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
			cmd.Fence = false
			Started(s, nil, cmd, timeout, to)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := ""
			for _, p := range append(parts[:len(parts):len(parts)], startParts...) {
				if p.name != mutant.part {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					r := &recorder{ctx: t.Context()}
					done := make(chan struct{})
					go func() {
						defer close(done)
						inst := starting{NewServer("a", nil), mutant.start}
						c := newCheck(Skew(0)).on(r, inst)
						c.starter = inst
						p.run(c)
					}()
					<-done
					failed = strings.Join(r.failed, "\n")
				})
			}
			assert.NotEmpty(t, failed, "the part %q let it pass", mutant.part)
		})
	}
}
