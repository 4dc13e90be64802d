package quorumtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum/wire"
)

// listeningMutant is a Listening with one rule broken.
type listeningMutant struct {
	Listening
	cmd  func(*wire.Request)
	vote func(wire.Request, *wire.Vote)
}

func (m listeningMutant) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	sent := cmd
	if m.cmd != nil {
		m.cmd(&sent)
	}
	m.Listening.Send(sent, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if m.vote != nil && vote.Outcome != wire.Failed {
			m.vote(cmd, &vote)
		}
		to.Receive(vote)
	}))
}

func TestCheckFindsNothingWrongWithListening(t *testing.T) {
	assert.Empty(t, fails(t, func() wire.Instance { return Listening{NewServer("a", nil)} }))
}

func TestCheckFindsListeningMutants(t *testing.T) {
	for name, test := range map[string]struct {
		mutant listeningMutant
		part   string
	}{
		"replaces nothing": {listeningMutant{cmd: func(c *wire.Request) { c.Replace = "" }}, "replace"},
		"doesn't tell that it replaced": {listeningMutant{vote: func(_ wire.Request, v *wire.Vote) {
			v.Replaced = false
		}}, "replace without fence"},
		"says that it always replaces": {listeningMutant{vote: func(c wire.Request, v *wire.Vote) {
			v.Replaced = v.Outcome == wire.Granted && c.Replace != ""
		}}, "replace"},
		"replaces whatever is there": {listeningMutant{cmd: func(c *wire.Request) {
			if c.Replace != "" {
				c.Replace = "v1"
			}
		}}, "replace"},
		"the front is the end": {listeningMutant{cmd: func(c *wire.Request) { c.Front = false }}, "the line of waiters"},
		"yields to nobody":     {listeningMutant{cmd: func(c *wire.Request) { c.Yield = false }}, "calls"},
		"enlists at a free key": {listeningMutant{cmd: func(c *wire.Request) {
			c.Yield = c.Op == wire.Enqueue
		}}, "the line of waiters"},
		"calls nobody":  {listeningMutant{cmd: func(c *wire.Request) { c.Notify = false }}, "the deaf are passed over"},
		"always calls":  {listeningMutant{cmd: func(c *wire.Request) { c.Notify = c.Op == wire.Release }}, "calls"},
		"is in no line": {listeningMutant{vote: func(c wire.Request, v *wire.Vote) { v.Notified = false }}, "the line of waiters"},
		"claims a call": {listeningMutant{vote: func(c wire.Request, v *wire.Vote) { v.Notified = c.Notify }}, "the line of waiters"},
		"calls where nobody asked": {listeningMutant{vote: func(_ wire.Request, v *wire.Vote) {
			v.Notified = true
		}}, "acquire a free key"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := fails(t, func() wire.Instance {
				m := test.mutant
				m.Listening = Listening{NewServer("a", nil)}
				return m
			})
			assert.Contains(t, failed, test.part)
		})
	}
}
