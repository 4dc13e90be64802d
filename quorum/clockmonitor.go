package quorum

import (
	"context"
	"sync"

	"github.com/redquorum/redlock/quorum/wire"
)

// clockMonitor reads the servers' clocks every Lab.ClockEvery, also while no lock is taken: the longer ago the last reading,
// the larger the jump that could pass for a difference of rates.
type clockMonitor struct {
	*env
	servers servers
	started sync.Once
}

// start starts the monitor's goroutine at the first call. It ends when the Coordinator is closed.
func (m *clockMonitor) start() {
	if m.cfg.Lab.ClockMonitor == Off {
		return
	}
	m.started.Do(func() {
		m.background.spawnResident(func() {
			for {
				select {
				case <-m.background.closing:
					return
				case <-m.clock.After(m.cfg.Lab.ClockEvery):
				}
				m.tick()
			}
		})
	})
}

// tick reads every server's clock once, and probes those that are in another run than the
// last probe found.
func (m *clockMonitor) tick() {
	var all sync.WaitGroup
	for _, s := range m.servers {
		all.Go(s.tick)
	}
	all.Wait()
}

// tick reads the server's clock, and checks that it is the server that was probed.
//
// Invariant: if a server hides its run, or has no epoch, requests to it name none only for
// as long as that lasts. It may last only for a moment: because a proxy answers in its
// place, or because the server can't write.
func (s *server) tick() {
	st := s.standing(s.reader.Now())
	run, hidden := st.run, s.watchesRestarts() && st.identified && st.run.Epoch() == ""
	vote := s.ask(&wire.Request{Op: wire.Tick, Clock: true, Run: run}).Vote
	other := otherRun(vote.Err)
	switch {
	case other != nil:
		s.answeredBy(other)
	case vote.Outcome == wire.Granted:
		s.saw(s.reader.Now())
	case permanent(vote.Err):
		s.forget()
	default:
		return
	}
	ctx, cancel := s.clock.WithTimeout(context.Background(), s.cfg.InstanceTimeout)
	defer cancel()
	// Their results are kept in the server, and hooks report them.
	if hidden {
		_, _ = s.identify(ctx, s.cfg.InstanceTimeout, true)
	} else {
		_, _ = s.identified(ctx, true)
	}
}
