package quorumtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum"
)

// listeningMutant is a Listening with one rule broken.
type listeningMutant struct {
	Listening
	cmd  func(*quorum.Command)
	vote func(quorum.Command, *quorum.Vote)
}

func (m listeningMutant) Send(cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
	sent := cmd
	if m.cmd != nil {
		m.cmd(&sent)
	}
	m.Listening.Send(sent, timeout, quorum.ReceiverFunc(func(vote quorum.Vote) {
		if m.vote != nil && vote.Outcome != quorum.Failed {
			m.vote(cmd, &vote)
		}
		to.Receive(vote)
	}))
}

func TestCheckFindsNothingWrongWithListening(t *testing.T) {
	assert.Empty(t, fails(t, func() quorum.Instance { return Listening{NewServer("a", nil)} }))
}

func TestCheckFindsListeningMutants(t *testing.T) {
	for name, test := range map[string]struct {
		mutant listeningMutant
		part   string
	}{
		"replaces nothing": {listeningMutant{cmd: func(c *quorum.Command) { c.Replace = "" }}, "replace"},
		"doesn't tell that it replaced": {listeningMutant{vote: func(_ quorum.Command, v *quorum.Vote) {
			v.Replaced = false
		}}, "replace without fence"},
		"says that it always replaces": {listeningMutant{vote: func(c quorum.Command, v *quorum.Vote) {
			v.Replaced = v.Outcome == quorum.Granted && c.Replace != ""
		}}, "replace"},
		"replaces whatever is there": {listeningMutant{cmd: func(c *quorum.Command) {
			if c.Replace != "" {
				c.Replace = "v1"
			}
		}}, "replace"},
		"the front is the end": {listeningMutant{cmd: func(c *quorum.Command) { c.Front = false }}, "the line of waiters"},
		"yields to nobody":     {listeningMutant{cmd: func(c *quorum.Command) { c.Yield = false }}, "calls"},
		"enlists at a free key": {listeningMutant{cmd: func(c *quorum.Command) {
			c.Yield = c.Op == quorum.Enlist
		}}, "the line of waiters"},
		"calls nobody":  {listeningMutant{cmd: func(c *quorum.Command) { c.Wake = false }}, "the deaf are passed over"},
		"always calls":  {listeningMutant{cmd: func(c *quorum.Command) { c.Wake = c.Op == quorum.Release }}, "calls"},
		"is in no line": {listeningMutant{vote: func(c quorum.Command, v *quorum.Vote) { v.Woke = false }}, "the line of waiters"},
		"claims a call": {listeningMutant{vote: func(c quorum.Command, v *quorum.Vote) { v.Woke = c.Wake }}, "the line of waiters"},
		"calls where nobody asked": {listeningMutant{vote: func(_ quorum.Command, v *quorum.Vote) {
			v.Woke = true
		}}, "acquire a free key"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := fails(t, func() quorum.Instance {
				m := test.mutant
				m.Listening = Listening{NewServer("a", nil)}
				return m
			})
			assert.Contains(t, failed, test.part)
		})
	}
}
