package quorum

import (
	"context"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// queueModel plays three goroutines that enter one queue, run, are cancelled, and release
// what they have, one step at a time.
type queueModel struct {
	t       *testing.T
	c       *Coordinator
	steps   []string
	waiters [3]*waiter   // nil for a goroutine that doesn't wait
	ran     [3]bool      // it has looked, and sleeps until it is notified
	saw     [3]*position // what it has seen, and will compete for
	order   []*waiter
	user    *Lease // that a goroutine was given
	leases  []*Lease
	token   fencing.Token
}

func newQueueModel(t *testing.T) *queueModel {
	m := clock.NewMock()
	reader := drift.NewReader(m)
	cfg := Config{Clock: m}
	cfg.TTL = 10000 * 1e6
	c := &core{cfg: cfg, clock: m, reader: reader, background: newBackground()}
	c.locals = newLocals(&c.cfg, reader, false)
	return &queueModel{t: t, c: &Coordinator{core: c, terms: cfg.Terms}}
}

// enabled lists the steps that are possible now. "e": enters. "r": runs, and wins its
// round if it sends one. "l": runs, and loses it. "c": is cancelled. "R": the holder
// releases. "X": the holder's lease runs out. "x": a lease that a goroutine was handed, and
// has yet to take, runs out. "t": another goroutine has the lock by
// TryAcquire.
func (m *queueModel) enabled() []string {
	var steps []string
	for i, w := range m.waiters {
		if w == nil {
			steps = append(steps, fmt.Sprintf("e%d", i))
			continue
		}
		steps = append(steps, fmt.Sprintf("c%d", i))
		if m.acts(i) {
			steps = append(steps, fmt.Sprintf("r%d", i))
			if w.trying {
				steps = append(steps, fmt.Sprintf("l%d", i))
			}
		}
	}
	if m.user != nil {
		return append(steps, "R", "X")
	}
	for _, w := range m.waiters {
		if w != nil && w.lease != nil && w.lease.over == nil {
			return append(steps, "x")
		}
	}
	if q := m.c.locals.queues["k"]; q != nil && q.holder == nil {
		steps = append(steps, "t")
	}
	return steps
}

// acts reports whether the goroutine has something to do.
func (m *queueModel) acts(i int) bool {
	return !m.ran[i] || m.saw[i] != nil || m.waiters[i].notified || m.waiters[i].trying
}

func (m *queueModel) must(holds bool, what string) {
	m.t.Helper()
	require.True(m.t, holds, "after %v: %s", m.steps, what)
}

func (m *queueModel) play(step string) {
	m.steps = append(m.steps, step)
	l := m.c.locals
	switch step {
	case "R":
		m.user.end(ErrReleased)
		if !l.handOff(m.user) {
			l.freed(m.user)
		}
		m.user = nil
	case "X":
		m.user.end(ErrExpired)
		m.user = nil
	case "x":
		m.c.locals.queues["k"].holder.end(ErrExpired)
	case "t":
		m.user = m.win()
	default:
		i := int(step[1] - '0')
		switch w := m.waiters[i]; step[0] {
		case 'e':
			w = &waiter{key: "k", c: m.c, ctx: context.Background()}
			l.enter(w)
			m.waiters[i], m.ran[i], m.saw[i], m.order = w, false, nil, append(m.order, w)
		case 'r', 'l':
			m.run(i, w, step[0] == 'r')
		case 'c':
			m.leave(i, false)
			if given := w.decline(); given != nil {
				given.end(ErrReleased)
				if !l.handOff(given) {
					l.freed(given)
				}
			}
		}
	}
	m.check()
}

// run does what wait.turn does, and the round.
func (m *queueModel) run(i int, w *waiter, wins bool) {
	if saw := m.saw[i]; saw != nil {
		m.saw[i], m.ran[i] = nil, w.compete(*saw) // or it looks again
		return
	}
	p := w.look(m.ran[i])
	m.ran[i] = true
	switch {
	case p.given != nil && !p.given.fit():
		m.ran[i] = false
		w.decline()
	case p.given != nil:
		m.take(i, p.given)
	case !p.first || p.holder != nil:
		w.park()
	case w.trying && wins:
		m.take(i, m.win())
	case !w.trying:
		m.saw[i] = &p
	}
}

// win is a round that is won.
func (m *queueModel) win() *Lease {
	m.token += 3
	h := newHold(m.c.core, "k", fmt.Sprint(m.token))
	lease := makeLease(m.c, context.Background(), h, m.token-2, m.c.terms, m.c.reader.Now())
	lease.round = &round{}
	h.reserve(2)
	m.c.locals.held(lease)
	return lease
}

func (m *queueModel) take(i int, lease *Lease) {
	m.leave(i, true)
	m.must(lease.fit(), "its lease is over")
	if n := len(m.leases); n > 0 {
		m.must(lease.token > m.leases[n-1].token, "the tokens fall")
	}
	m.user, m.leases = lease, append(m.leases, lease)
}

func (m *queueModel) leave(i int, won bool) {
	w := m.waiters[i]
	w.leave(won)
	for at, other := range m.order {
		if other == w {
			m.must(at == 0 || !won, "out of order")
			m.order = append(m.order[:at:at], m.order[at+1:]...)
			break
		}
	}
	m.waiters[i] = nil
}

// check demands that one at a time has the lock, and that nobody sleeps who should act.
func (m *queueModel) check() {
	l := m.c.locals
	q := l.queues["k"]
	if q == nil {
		m.must(len(m.order) == 0 && m.user == nil, "the queue is gone too soon")
		return
	}
	m.must(!(len(m.order) == 0 && q.holder == nil && q.contested == 0), "the queue is kept for nothing")
	given := 0
	for i, w := range m.waiters {
		if w == nil {
			continue
		}
		if w.lease != nil {
			m.must(q.waiting[0] == w && !w.trying, "it was handed to a waiter that does not wait for it")
			if w.lease.over == nil {
				given++
				m.must(q.holder == w.lease, "it was handed what this process doesn't hold")
			}
		}
		m.must(w != q.waiting[0] || m.acts(i) || q.holder != nil && w.lease == nil, "everybody sleeps")
	}
	if m.user != nil {
		given++
		m.must(q.holder == m.user, "the holder isn't known")
	}
	m.must(given <= 1, "two have it")
}

// Whatever three goroutines do in a queue, in whatever order: one at a time has the lock,
// in the order in which they came, with rising tokens, and nobody sleeps for ever.
func TestQueueInEveryOrder(t *testing.T) {
	const depth = 8
	played := 0
	handed := false
	var explore func(steps []string)
	explore = func(steps []string) {
		m := newQueueModel(t)
		for _, step := range steps {
			m.play(step)
			for _, w := range m.waiters {
				handed = handed || w != nil && w.lease != nil
			}
		}
		played++
		if len(steps) == depth {
			return
		}
		for _, step := range m.enabled() {
			// Goroutines are all alike: they enter in the order of their numbers at first.
			if len(steps) == 0 && step != "e0" || len(steps) == 1 && step == "e2" {
				continue
			}
			explore(append(steps[:len(steps):len(steps)], step))
		}
	}
	explore(nil)
	require.True(t, handed, "no lease was handed on")
	t.Logf("%d sequences", played)
}
