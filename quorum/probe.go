package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/quarantine"
	"github.com/redquorum/redlock/quorum/wire"
)

// probe is one question to a server who it is. Whoever needs the answer waits for the probe that is under way, so
// a server that hangs is probed once in a timeout, and not once for each vote that is wanted from it.
//
// One probe at a time: of two at once, the answer that the server gave first could be taken in last, and a
// run that has ended would pass for the present one.
type probe struct {
	done  chan struct{} // closed when the answer was taken in
	id    wire.Identity
	err   error // why there is no answer
	unfit error // what it says that rules out any vote
}

// identify returns a probe that has ended, or ctx's error. With fresh it was begun after this call, and otherwise
// perhaps before. timeout is that of a probe that is begun.
func (s *server) identify(ctx context.Context, timeout time.Duration, fresh bool) (*probe, error) {
	for {
		s.mu.Lock()
		p := s.probing
		//guard:probes-in-turn  probes of a server take turns
		mine := p == nil
		if mine {
			p = &probe{done: make(chan struct{})}
			s.probing = p
			s.background.spawn(func() { s.carryOut(p, timeout) })
		}
		s.mu.Unlock()
		select {
		case <-p.done:
			if mine || !fresh {
				return p, nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("it could not be probed: %w", ctx.Err())
		}
	}
}

// identified returns the server's standing, and probes the server first if no probe has identified it.
//
// If clients of another set use the server it is probed for who shares its locks with them. A lease that has its vote
// outlives a change of the set.
func (s *server) identified(ctx context.Context, shares bool) (standing, error) {
	for {
		if st := s.standing(s.reader.Now()); st.identified && !(shares && st.otherSet) {
			return st, nil
		}
		p, err := s.identify(ctx, s.cfg.InstanceTimeout, false)
		if err == nil {
			err = cmp.Or(p.err, p.unfit)
		}
		if err != nil {
			return standing{}, err
		}
	}
}

// carryOut asks the server who it is and takes in the answer. Then the next probe may begin.
func (s *server) carryOut(p *probe, timeout time.Duration) {
	ctx, cancel := s.clock.WithTimeout(context.Background(), timeout)
	defer cancel()
	sent := s.reader.Now()
	s.mu.Lock()
	known := s.quarantine.Known(sent)
	s.mu.Unlock()
	//guard:set-is-sent  every probe names the set of instances, so that clients that disagree on it get no lock
	known.Set = s.cfg.Set
	p.id, p.err = s.inst.Probe(ctx, known)
	switch {
	case p.err == nil:
		s.takeIn(p, sent, s.reader.Now())
	case errors.Is(p.err, ErrSetMismatch):
		s.noteOtherSet(p.err)
	}
	s.mu.Lock()
	s.probing = nil
	s.mu.Unlock()
	close(p.done)
}

// takeIn takes in the answer to a probe.
func (s *server) takeIn(p *probe, sent, received drift.Instant) {
	id := p.id
	s.mu.Lock()
	var excluded quarantine.Exclusion
	s.unfit, s.otherSet = nil, nil
	if s.watchesRestarts() {
		server := cmp.Or(id.RunID, id.ReplID)
		// The claim comes before probed is set: of two servers that are one only
		// one ever votes, whichever was first.
		if other := s.registry.claim(server, s.name); other != "" {
			s.unfit = fmt.Errorf("%w: %q and %q have the run id %s; list each server once", ErrDuplicate, s.name, other, server)
		}
		if err := roleError(id); err != nil {
			//guard:masters-vote  a replica doesn't vote, writable or not
			s.unfit = err
		}
		if s.quarantine.RunID() != id.RunID {
			// The clock of another machine is not this clock after a jump.
			s.monitor = drift.Monitor{MaxRate: s.monitor.MaxRate, Tolerance: s.monitor.Tolerance}
		}
		excluded = s.quarantine.Identify(id, received)
	}
	s.probed, p.unfit = true, s.unfit
	hidden := s.watchesRestarts() && s.unfit == nil && !s.hiddenReported && id.Run() == ""
	s.hiddenReported = s.hiddenReported || hidden
	policy := ""
	if evicts(id) {
		policy = id.Eviction
	}
	evicting := policy != "" && policy != s.policyReported
	s.policyReported = policy
	s.mu.Unlock()

	s.cannotNotify.Store(id.CannotNotify)
	s.reportQuarantine(excluded)
	if hidden && s.cfg.Hooks.Unprotected != nil {
		s.cfg.Hooks.Unprotected(UnprotectedEvent{Instance: s.name, Hidden: id.Hidden})
	}
	if evicting && s.cfg.Hooks.Unprotected != nil {
		s.cfg.Hooks.Unprotected(UnprotectedEvent{Instance: s.name, Eviction: policy})
	}
	s.guess.learn(id.Clock, sent, received)
	s.observe(id.Clock, sent, received)
}

// unfitError is the failure of an instance that can't become fit for votes on its own.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }

// Permanent says that waiting doesn't help.
func (unfitError) Permanent() bool { return true }

// roleError is nil for a master, and for a server that hides its role. A Sentinel or a node of a cluster can't
// become a master. A replica may be promoted, or its name may come to lead to another server.
func roleError(id wire.Identity) error {
	switch id.Role {
	case "", wire.RoleMaster:
		return nil
	case wire.RoleSentinel:
		return unfitError{fmt.Errorf("%w but a Sentinel; list independent masters, or make the deployment that it watches one instance (master_name in the URL)", ErrNotMaster)}
	case wire.RoleCluster:
		return unfitError{fmt.Errorf("%w of its own but a node of a cluster; list independent servers (cluster-enabled no), or make the whole cluster one instance (cluster=true in the URL)", ErrNotMaster)}
	case "slave":
		return fmt.Errorf("%w but a replica (slave); list masters only, and let only a deployment (instance.Open) fail over", ErrNotMaster)
	default:
		return fmt.Errorf("%w but a %s; list masters only", ErrNotMaster, id.Role)
	}
}

// registry gives each server to one instance. Two instances that reach the same server,
// under whatever names, have one vote: a majority that counts a server twice is none
// (scenario S13). The zero registry is empty.
type registry struct {
	mu         sync.Mutex
	instanceAt map[string]string // server -> the instance that reaches it
	serverOf   map[string]string // instance -> the server that it reaches
}

// claim notes that the instance reaches the server now, and no longer the one before. If
// another instance has claimed the server, claim returns that instance's name, and notes only
// that the instance has left its earlier server. An empty server is hidden: it can't be told from
// another.
func (r *registry) claim(server, instance string) (other string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instanceAt == nil {
		r.instanceAt, r.serverOf = make(map[string]string), make(map[string]string)
	}
	if old := r.serverOf[instance]; old != "" && old != server {
		delete(r.instanceAt, old)
		delete(r.serverOf, instance)
	}
	if server == "" {
		return ""
	}
	//guard:one-server-one-vote  one server under two names votes once
	if other := r.instanceAt[server]; other != "" && other != instance {
		return other
	}
	r.instanceAt[server], r.serverOf[instance] = instance, server
	return ""
}

// evicts reports whether a server may drop locks when its memory is full.
func evicts(id wire.Identity) bool { return id.Eviction != "" && id.Eviction != "noeviction" }

// verifyTimeout is the least time that Verify, Trust and a subscription give an instance, because at the start
// a connection has to be made.
const verifyTimeout = 2 * time.Second
