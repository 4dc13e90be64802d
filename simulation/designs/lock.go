package designs

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

const (
	// readTimeout bounds the wait of a lock on one server for a reply: go-redis's default.
	readTimeout = 3 * time.Second
	// documentTimeout is the longest of the document's for a TTL of 10 s: "in the ~ 5-50 milliseconds range".
	documentTimeout = 50 * time.Millisecond
)

// Apply makes a Config's processes use the recipe, and a resource without a guard.
func (r Recipe) Apply(cfg *simulation.Config) { LockBy(r.locker)(cfg) }

// OnOneServer configures processes to use the recipe on the first server, as the code of articles does: the
// validity counts from the reply, by the monotonic clock and without an allowance, and nothing is rolled back
// whose reply was lost.
func OnOneServer(r Recipe) func(*simulation.Config) {
	r.LateStart = true
	return fromBefore(r).Apply
}

// fromBefore is the recipe on one server with a validity that counts from before the first command.
func fromBefore(r Recipe) Recipe {
	r.Clock, r.NoDrift, r.ReleaseGranted = Monotonic, true, true
	return r
}

// OnMajority configures processes to use the Redis document's Redlock, with a change if there is one.
func OnMajority(change func(*Recipe)) func(*simulation.Config) {
	r := correct
	r.Majority = true
	if change != nil {
		change(&r)
	}
	return r.Apply
}

// lock is a Recipe in one process.
type lock struct {
	Recipe
	servers   []simulation.Redis
	config    quorum.Config
	timeout   time.Duration // of each command
	allowance drift.Allowance
	reader    *drift.Reader
}

func (r Recipe) locker(p simulation.Process) (simulation.Locker, error) {
	if len(p.Redis) == 0 {
		return nil, fmt.Errorf("%w: there is no server to lock on", quorum.ErrConfig)
	}
	l := &lock{Recipe: r, servers: p.Redis, config: p.Config, timeout: p.Config.InstanceTimeout, reader: drift.NewReader(p.Config.Lab.Clock)}
	switch {
	case !r.Majority:
		l.servers, l.timeout = l.servers[:1], readTimeout
	case r.NoTimeout:
		l.timeout = 24 * time.Hour
	case l.timeout == 0:
		l.timeout = min(documentTimeout, p.Config.TTL/4)
	}
	if l.allowance = p.Config.Lab.Drift; r.NoDrift {
		l.allowance = drift.Allowance{}
	} else if l.allowance == (drift.Allowance{}) {
		l.allowance = drift.Default()
	}
	return l, nil
}

// Close does nothing: nothing runs in the background.
func (l *lock) Close(context.Context) error { return nil }

// vote is a server's answer.
type vote struct {
	granted bool          // also if a later command than the first one has failed
	reply   fencing.Token // a number, of the last command
	err     error
}

// count returns the number of grants and of refusals, and the first error.
func count(votes []vote) (granted, refused int, err error) {
	for _, v := range votes {
		switch {
		case v.err != nil && err == nil:
			err = v.err
		case v.err == nil && v.granted:
			granted++
		case v.err == nil:
			refused++
		}
	}
	return granted, refused, err
}

// quorum returns the number of grants that are needed.
func (l *lock) quorum(votes []vote) int {
	if l.QuorumOfReachable {
		granted, refused, _ := count(votes)
		return (granted+refused)/2 + 1
	}
	return len(votes)/2 + 1
}

// elapsed returns the time since a moment.
func (l *lock) elapsed(since drift.Instant) time.Duration {
	now := l.reader.Now()
	switch l.Clock {
	case Monotonic:
		return now.Mono - since.Mono
	case Wall:
		return now.Wall.Sub(since.Wall)
	default:
		return drift.Elapsed(since, now)
	}
}

// value returns the value of a try: 20 random bytes, as in the Redis document, unless all have one value.
func (l *lock) value() (string, error) {
	if l.Value != "" {
		return l.Value, nil
	}
	var b [20]byte
	err := l.draw(b[:])
	return hex.EncodeToString(b[:]), err
}

func (l *lock) draw(b []byte) error {
	if _, err := io.ReadFull(l.config.Lab.Random, b); err != nil {
		return fmt.Errorf("designs: no random numbers: %w", err)
	}
	return nil
}
