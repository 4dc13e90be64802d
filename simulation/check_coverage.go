package simulation

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/record"
)

// quarantined records the beginning of a quarantine.
func (p *process) quarantined(e quorum.QuarantineEvent) {
	p.tell(opOrder{kind: isReport, n: uint64(e.Err.Reason), key: e.Instance}, func() {
		w := p.w
		w.count(map[quorum.QuarantineReason]string{quorum.Restarted: quarantineRestarted, quorum.ClockJumped: quarantineJumped}[e.Err.Reason])
		w.event(record.Quarantined, p.name, e.Instance).Validity = e.Err.Remaining
		if p.quarantines == nil {
			p.quarantines = map[string]int64{}
		}
		p.quarantines[e.Instance] = max(p.quarantines[e.Instance], w.now.Load()+int64(e.Err.Remaining))
	})
}

// quarantined counts a round if an instance was in quarantine at its end. That doesn't
// depend on goroutine scheduling, unlike the set of votes counted so far.
func (c *checker) quarantined(p *process) {
	for _, until := range p.quarantines {
		if until > c.w.now.Load() {
			c.w.count(quarantineRefused)
			return
		}
	}
}

// failedDelete is a delete that failed.
type failedDelete struct {
	p     *process
	place int
	value string
}

// gaveUp records a call that timed out.
func (c *checker) gaveUp(call *call) {
	switch call.cmd.Op {
	case wire.Acquire:
		if c.missed == nil {
			c.missed = map[string]bool{}
		}
		c.missed[call.cmd.Value] = true
		if h := c.byValue[call.cmd.Value]; h != nil {
			c.w.count(minorityTimedOut)
		}
	case wire.Release:
		if c.pendingDeletes == nil {
			c.pendingDeletes = map[failedDelete]bool{}
		}
		c.pendingDeletes[failedDelete{call.p, call.place, call.cmd.Value}] = true
	}
}

// carriedOut records a command that a server has executed.
func (c *checker) carriedOut(call *call, granted bool) {
	switch call.cmd.Op {
	case wire.Acquire:
		if granted && call.answered {
			c.w.count(grantAfterTimeout)
		}
	case wire.Raise:
		c.w.count(raiseNeeded)
	case wire.Release:
		if o := (failedDelete{call.p, call.place, call.cmd.Value}); granted && c.pendingDeletes[o] && !call.answered {
			delete(c.pendingDeletes, o)
			c.w.count(deleteDelivered)
		}
	}
}

// late records a reply that arrives after the call timed out.
func (c *checker) late(r *reply, at int64) {
	call := r.call
	c.w.message(record.Ignored, call).At = time.Duration(at)
	if call.cmd.Op == wire.Acquire && r.answer.vote.Outcome == wire.Granted {
		c.w.count(grantTooLate)
	}
	if h := c.byValue[call.cmd.Value]; h != nil && h.endedAt <= at {
		c.w.count(replyAfterRelease)
	}
}

// known records a lease by its value: the latest lease of a process with that value.
func (c *checker) known(h *holding) {
	if h.value == "" {
		return
	}
	if c.byValue == nil {
		c.byValue = map[string]*holding{}
	}
	if before := c.byValue[h.value]; before != nil && before.key == h.key {
		c.w.count(leaseHandedOver)
	}
	c.byValue[h.value] = h
	if c.missed[h.value] {
		c.w.count(minorityTimedOut)
	}
}
