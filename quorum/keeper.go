package quorum

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/internal/keeper"
	"github.com/redquorum/redlock/quorum/internal/pace"
	"github.com/redquorum/redlock/quorum/internal/wheel"
)

// leaseKeeper ends leases at their deadlines and extends those that are kept alive. A
// Coordinator and its views share one.
type leaseKeeper struct {
	*keeper.Keeper[*Lease]
	c    *core
	pace pace.Pace
}

const never = wheel.Never

// newKeeper makes the keeper of the leases of a Coordinator and its views.
func newKeeper(c *core) *leaseKeeper {
	k := &leaseKeeper{c: c, pace: pace.Pace{Timeout: c.cfg.InstanceTimeout, Jitter: c.random.Jitter}}
	k.Keeper = keeper.New(keeper.Config[*Lease]{
		Clock: c.clock, Reader: c.reader, Group: c.background,
		Entry:  func(l *Lease) *keeper.Entry[*Lease] { return &l.kept },
		Left:   (*Lease).leftNow,
		Ended:  (*Lease).hasEnded,
		Over:   func(l *Lease) { l.Validity() }, // which ends it
		Extend: k.extend,
		Close:  k.close,
	})
	return k
}

// nextExtension is when to extend a lease next that has so much validity left.
func (k *leaseKeeper) nextExtension(left time.Duration, failed bool) time.Duration {
	return k.pace.Next(k.c.reader.Now().Mono, left, failed)
}

// extend extends leases that are due together, and has each extended again.
func (k *leaseKeeper) extend(leases []*Lease) {
	free := leases[:0]
	for _, l := range leases {
		if l.tryExtension() {
			free = append(free, l)
			continue
		}
		// The holder extends it, or hands it off. The others don't wait for that.
		k.c.background.Go(func() {
			if l.enterExtension(context.Background()) == nil {
				k.extendEntered([]*Lease{l})
			}
		})
	}
	k.extendEntered(free)
}

// extendEntered is extend, when no other extension of these leases is under way.
func (k *leaseKeeper) extendEntered(leases []*Lease) {
	decided := make(chan *extension, len(leases))
	all := make([]*extension, 0, len(leases))
	for _, l := range leases {
		left := l.Validity()
		if _, more := l.nextTTL(l.terms.TTL); left <= 0 || !more {
			l.leaveExtension()
			continue
		}
		e, err := l.newExtension(l.parent, l.terms.TTL, 0, k.pace.Patience(left), decided)
		if e == nil {
			k.extended(l, err)
			continue
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return
	}
	k.c.send(all...)
	for range all {
		e := <-decided
		k.extended(e.lease, e.conclude(e.lease.parent, e.result()))
	}
}

// extended takes in the end of an extension.
func (k *leaseKeeper) extended(l *Lease, err error) {
	l.leaveExtension()
	if left := l.Validity(); left > 0 {
		k.ExtendAt(l, k.nextExtension(left, err != nil))
	}
}

// close ends leases because the Coordinator is closed. Their contexts end before any hook is
// called.
func (k *leaseKeeper) close(leases []*Lease) {
	ended := leases[:0]
	for _, l := range leases {
		l.mu.Lock()
		ends, first := l.endLocked(ErrClosed)
		l.mu.Unlock()
		for _, ctx := range ends {
			ctx.end(ErrClosed)
		}
		if first {
			ended = append(ended, l)
		}
	}
	for _, l := range ended {
		l.endEach(nil, ErrClosed)
		l.reportLoss(ErrClosed)
	}
}
