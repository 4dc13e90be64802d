package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum/wire"
)

// notifyingMutant is a NotifyingServer with one rule broken.
type notifyingMutant struct {
	NotifyingServer
	cmd    func(*wire.Request)
	waiter func(*wire.Waiter)
	vote   func(wire.Request, *wire.Vote)
}

func (m notifyingMutant) Enqueue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	if m.waiter != nil {
		m.waiter(&w)
	}
	m.NotifyingServer.Enqueue(w, timeout, to)
}

func (m notifyingMutant) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	sent := cmd
	if m.cmd != nil {
		m.cmd(&sent)
	}
	m.NotifyingServer.Send(sent, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if m.vote != nil && vote.Outcome != wire.Failed {
			m.vote(cmd, &vote)
		}
		to.Receive(vote)
	}))
}

func TestCheckFindsNothingWrongWithNotifyingServer(t *testing.T) {
	assert.Empty(t, fails(t, func() wire.Instance { return NotifyingServer{Server: NewServer("a", nil)} }))
}

func TestCheckFindsNotifyingMutants(t *testing.T) {
	for name, test := range map[string]struct {
		mutant notifyingMutant
		part   string
	}{
		"replaces nothing": {notifyingMutant{cmd: func(c *wire.Request) { c.Replace = "" }}, "replace"},
		"doesn't tell that it replaced": {notifyingMutant{vote: func(_ wire.Request, v *wire.Vote) {
			v.Replaced = false
		}}, "replace without fence"},
		"says that it always replaces": {notifyingMutant{vote: func(c wire.Request, v *wire.Vote) {
			v.Replaced = v.Outcome == wire.Granted && c.Replace != ""
		}}, "replace"},
		"replaces whatever is there": {notifyingMutant{cmd: func(c *wire.Request) {
			if c.Replace != "" {
				c.Replace = "v1"
			}
		}}, "replace"},
		"the front is the end":         {notifyingMutant{waiter: func(w *wire.Waiter) { w.Front = false }}, "the wait queue"},
		"yields to nobody":             {notifyingMutant{waiter: func(w *wire.Waiter) { w.Yield = false }}, "notifications"},
		"enqueues at a free key":       {notifyingMutant{waiter: func(w *wire.Waiter) { w.Yield = true }}, "the wait queue"},
		"notifies nobody":              {notifyingMutant{cmd: func(c *wire.Request) { c.Notify = false }}, "closed subscriptions are passed over"},
		"always notifies":              {notifyingMutant{cmd: func(c *wire.Request) { c.Notify = c.Op == wire.Release }}, "notifications"},
		"says that it notified nobody": {notifyingMutant{vote: func(c wire.Request, v *wire.Vote) { v.Notified = false }}, "the wait queue"},
		"claims a notification":        {notifyingMutant{vote: func(c wire.Request, v *wire.Vote) { v.Notified = c.Notify }}, "the wait queue"},
		"notifies where nobody asked": {notifyingMutant{vote: func(_ wire.Request, v *wire.Vote) {
			v.Notified = true
		}}, "acquire a free key"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := fails(t, func() wire.Instance {
				m := test.mutant
				m.NotifyingServer = NotifyingServer{Server: NewServer("a", nil)}
				return m
			})
			assert.Contains(t, failed, test.part)
		})
	}
}
