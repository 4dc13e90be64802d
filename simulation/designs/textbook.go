package designs

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// Textbook is a minimal Redlock as in the Redis document, to which the flaws of other
// implementations can be added: the library itself refuses most of them. Each field is
// one flaw. The zero Textbook has none and behaves like the design "redlock", except that,
// like the document, it has no pending deletes: it doesn't retry failed deletes (S9b).
//
// It sends to all servers at once and waits for all replies, each with its own timeout.
type Textbook struct {
	// ReuseValue draws the value once for all attempts of an Acquire: the rollback of
	// an attempt may reach a server after the SET of the next attempt (S9m).
	ReuseValue bool
	// ReleaseGranted rolls a lost round back only where it was granted: a server whose
	// reply got lost keeps the key for a TTL (S10).
	ReleaseGranted bool
	// NoTimeout waits for each server's reply without a bound (S27).
	NoTimeout bool
	// HalfIsEnough: N/2 servers are a quorum (S18).
	HalfIsEnough bool
	// QuorumOfReachable takes a majority of the servers that replied as a quorum
	// (S14).
	QuorumOfReachable bool
	// NoElapsedCheck grants a lock that has already expired (S3).
	NoElapsedCheck bool
	// CountFromReply counts the validity from the replies, rather than from before the
	// commands were sent (S3).
	CountFromReply bool
	// WallClock uses the wall clock alone (S5; the opposite is S15).
	WallClock bool
	// NoDrift makes no allowance for clocks that run at different rates (S6).
	NoDrift bool
	// ExtendSets extends by setting the key where it is missing, and doesn't check its own
	// deadline first: a lock that expired long ago comes back (S11a).
	ExtendSets bool
	// PartialExtend accepts an extension that at least one server granted (S11c).
	PartialExtend bool
}

// Apply makes a Config's processes use this Textbook.
func (t Textbook) Apply(cfg *simulation.Config) {
	cfg.Guard = simulation.Unguarded
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) { return t.locker(p) }
}

// locker makes the Locker of one process.
func (t Textbook) locker(p simulation.Process) (*textbook, error) {
	if len(p.Instances) == 0 {
		return nil, fmt.Errorf("%w: there is no instance", quorum.ErrConfig)
	}
	l := &textbook{
		Textbook: t, instances: p.Instances, clock: p.Config.Lab.Clock, reader: drift.NewReader(p.Config.Lab.Clock), random: p.Config.Lab.Random,
		ttl: p.Config.TTL, timeout: p.Config.InstanceTimeout, allowance: p.Config.Lab.Drift,
		patience: PatienceOf(p),
	}
	if l.timeout == 0 {
		// The library's default, so that the two can be compared.
		l.timeout = max(time.Millisecond, min(max(l.ttl/100, 50*time.Millisecond), 500*time.Millisecond, l.ttl/4))
	}
	switch {
	case t.NoDrift:
		l.allowance = drift.Allowance{}
	case l.allowance == drift.Allowance{}:
		l.allowance = drift.Default()
	}
	return l, nil
}

// textbook is the Textbook of one process.
type textbook struct {
	Textbook
	instances []wire.Instance
	clock     clock.Clock
	reader    *drift.Reader
	random    io.Reader
	ttl       time.Duration
	timeout   time.Duration
	allowance drift.Allowance
	patience  Patience
}

var _ simulation.Locker = (*textbook)(nil)

func (l *textbook) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	value, err := NewValue(l.random)
	if err != nil {
		return nil, err
	}
	return l.try(ctx, key, value)
}

func (l *textbook) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	value := ""
	return l.patience.Acquire(ctx, func(n int) (simulation.Lease, error) {
		if n == 1 || !l.ReuseValue {
			var err error
			if value, err = NewValue(l.random); err != nil {
				return nil, err
			}
		}
		return l.try(ctx, key, value)
	})
}

// Close does nothing: every call waits for all replies.
func (l *textbook) Close(context.Context) error { return nil }

// try is one round: steps 1 to 5 of the document.
func (l *textbook) try(ctx context.Context, key, value string) (simulation.Lease, error) {
	start := l.reader.Now()
	votes := l.ask(ctx, wire.Request{Op: wire.Acquire, Keys: []string{key}, Value: value, TTL: l.ttl}, nil)
	if l.CountFromReply {
		start = l.reader.Now()
	}
	validity := l.allowance.Validity(l.ttl, l.elapsed(start))
	var err error
	switch {
	case count(votes, wire.Granted) < l.quorum(votes):
		err = quorum.ErrNoQuorum
		if count(votes, wire.Refused) > len(votes)-l.quorum(votes) {
			err = quorum.ErrTaken
		}
	case validity <= 0 && !l.NoElapsedCheck:
		err = quorum.ErrTooSlow
	}
	if err != nil {
		l.rollBack(ctx, key, value, votes)
		return nil, err
	}
	return &textbookLease{lock: l, key: key, value: value, start: start, length: l.allowance.Validity(l.ttl, 0)}, nil
}

// ask sends a command to all instances, or to chosen ones, and waits for all their votes.
func (l *textbook) ask(ctx context.Context, cmd wire.Request, chosen func(i int) bool) []wire.Vote {
	votes := make([]wire.Vote, len(l.instances))
	if ctx.Err() != nil {
		return votes // nothing is sent
	}
	timeout := l.timeout
	if l.NoTimeout {
		timeout = 24 * time.Hour
	}
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(1, min(timeout, l.clock.Until(deadline)))
	}
	var all sync.WaitGroup
	for i, instance := range l.instances {
		if chosen != nil && !chosen(i) {
			continue
		}
		all.Add(1)
		instance.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
			votes[i] = vote
			all.Done()
		}))
	}
	all.Wait()
	return votes
}

// rollBack deletes what a round has set.
func (l *textbook) rollBack(ctx context.Context, key, value string, votes []wire.Vote) {
	var chosen func(i int) bool // none: everywhere, because a grant may have got lost
	if l.ReleaseGranted {
		chosen = func(i int) bool { return votes[i].Outcome == wire.Granted }
	}
	l.ask(ctx, wire.Request{Op: wire.Release, Keys: []string{key}, Value: value}, chosen)
}

// quorum returns the number of grants that are needed.
func (l *textbook) quorum(votes []wire.Vote) int {
	n := len(l.instances)
	switch {
	case l.HalfIsEnough:
		return max(1, n/2)
	case l.QuorumOfReachable:
		return max(1, (n-count(votes, wire.Failed))/2+1)
	default:
		return n/2 + 1
	}
}

// elapsed returns the time since an Instant: the larger one of two clocks, as in the library.
func (l *textbook) elapsed(since drift.Instant) time.Duration {
	now := l.reader.Now()
	if l.WallClock {
		return now.Wall.Sub(since.Wall)
	}
	return drift.Elapsed(since, now)
}

func count(votes []wire.Vote, o wire.Outcome) int {
	n := 0
	for _, v := range votes {
		if v.Outcome == o {
			n++
		}
	}
	return n
}
