package designs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// forever is the validity of a lock without an expiry.
const forever = 365 * 24 * time.Hour

// lease is a lease of a lock. Its user uses it in one goroutine.
type lease struct {
	lock       *lock
	key, value string
	token      fencing.Token // of the grant
	shown      fencing.Token // fetched at the first use
	start      drift.Instant // the validity counts from here
	released   bool
}

var _ simulation.Lease = (*lease)(nil)

func (e *lease) Key() string          { return e.key }
func (e *lease) Value() string        { return e.value }
func (e *lease) Token() fencing.Token { return e.token }

// Quorum is the document's, whatever the flaws. It is 0 on one server: most such locks overestimate their
// validity by design, in every run, which is not reported.
func (e *lease) Quorum() int {
	if !e.lock.Majority {
		return 0
	}
	return len(e.lock.servers)/2 + 1
}

// Servers is 1 on one server: the simulation counts how often its key expires too early.
func (e *lease) Servers() int {
	if e.lock.Majority {
		return 0
	}
	return 1
}

// ask sends commands to all servers, or to chosen ones, and waits for their votes.
func (e *lease) ask(ctx context.Context, commands []Command, chosen func(i int) bool) []vote {
	votes := make([]vote, len(e.lock.servers))
	var all sync.WaitGroup
	for i, server := range e.lock.servers {
		if chosen == nil || chosen(i) {
			all.Go(func() { votes[i] = e.send(ctx, server, commands) })
		}
	}
	all.Wait()
	return votes
}

// errHalf: a command succeeded, and the one after it was refused.
var errHalf = errors.New("designs: only a part of the commands succeeded")

// send sends commands one after the other. If a reply is lost, so is what is known of the earlier ones.
func (e *lease) send(ctx context.Context, server simulation.Redis, commands []Command) vote {
	v := vote{granted: true}
	for n, command := range commands {
		reply, err := e.do(ctx, server, command)
		done := reply.Text == "OK" || reply.Int > 0 || reply.Text == e.value
		switch {
		case err != nil:
			return vote{err: err}
		case !done && n == 0:
			return vote{}
		case !done:
			v.err = fmt.Errorf("%w: %s", errHalf, command[0])
			return v
		}
		v.reply = fencing.Token(max(0, reply.Int))
	}
	return v
}

// do sends one command and waits for its reply.
func (e *lease) do(ctx context.Context, server simulation.Redis, command Command) (redismodel.Reply, error) {
	ttl, clock := e.lock.config.TTL, e.lock.config.Lab.Clock
	words := map[string]string{
		"KEY": e.key, "VALUE": e.value, "COUNTER": e.key + ":token",
		"MS":      strconv.FormatInt(ttl.Milliseconds(), 10),
		"SECONDS": strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10),
		"UNTIL":   strconv.FormatInt(clock.Now().Add(ttl).UnixMilli(), 10),
	}
	args := slices.Clone(command)
	for i, arg := range args {
		args[i] = cmp.Or(words[arg], arg)
	}
	ctx, cancel := clock.WithTimeout(ctx, e.lock.timeout)
	defer cancel()
	reply, err := server.Do(ctx, args...)
	if err == nil {
		err = reply.Err
	}
	return reply, err
}

// begin starts the validity, at the moment at which commands were sent unless it starts late.
func (e *lease) begin(sent drift.Instant) {
	if e.start = sent; e.lock.LateStart {
		e.start = e.lock.reader.Now()
	}
}

func (e *lease) Validity() time.Duration {
	switch {
	case e.released:
		return 0
	case e.lock.Lasts:
		return forever
	}
	return e.lock.validity(e.start)
}

// validity is what is left of a TTL that began at a moment.
func (l *lock) validity(start drift.Instant) time.Duration {
	return l.allowance.Validity(l.config.TTL, l.Elapsed(start, l.reader.Now()))
}

// Show returns the token for the resource. It is 0 if it can't be fetched: no guard accepts 0.
func (e *lease) Show(ctx context.Context) fencing.Token {
	switch {
	case e.lock.Recipe.Token == nil:
		return e.token
	case e.shown == 0:
		if reply, err := e.do(ctx, e.lock.servers[0], e.lock.Recipe.Token); err == nil {
			e.shown = fencing.Token(max(0, reply.Int))
		}
	}
	return e.shown
}

// Extend is the document's "Extending the lock".
func (e *lease) Extend(ctx context.Context) error {
	l := e.lock
	if e.Validity() <= 0 && !l.LateStart && !l.ExtendSets {
		return quorum.ErrExpired
	}
	sent := l.reader.Now()
	votes := e.ask(ctx, l.Recipe.Extend, nil)
	if l.ExtendSets {
		missing := func(i int) bool { return votes[i].err == nil && !votes[i].granted }
		for i, set := range e.ask(ctx, l.Recipe.Acquire, missing) { // another client's key stays
			if missing(i) {
				votes[i] = set
			}
		}
	}
	err := l.decide(votes, quorum.ErrLost, quorum.ErrNotExtended)
	if err == nil && !l.LateStart && l.validity(sent) <= 0 {
		err = quorum.ErrNotExtended
	}
	if err == nil {
		e.begin(sent)
	}
	return err
}

// Release is the document's "Releasing the Lock": everywhere.
func (e *lease) Release(ctx context.Context) error {
	if e.released {
		return quorum.ErrReleased
	}
	e.released = true
	return e.lock.decide(e.ask(ctx, e.lock.Recipe.Release, nil), quorum.ErrNotHeld, quorum.ErrUnreachable)
}
