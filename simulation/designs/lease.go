package designs

import (
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

// lease is a lease of a lock.
type lease struct {
	lock       *lock
	key, value string
	token      fencing.Token // of the grant

	mu       sync.Mutex
	start    drift.Instant // the validity counts from here
	shown    fencing.Token // fetched at the first use
	released bool
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
		switch {
		case err != nil:
			return vote{err: err}
		case reply.Text != "OK" && reply.Int < 1 && reply.Text != e.value && n == 0:
			return vote{}
		case reply.Text != "OK" && reply.Int < 1 && reply.Text != e.value:
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
	args := slices.Clone(command)
	for i, arg := range args {
		switch arg {
		case "KEY":
			args[i] = e.key
		case "VALUE":
			args[i] = e.value
		case "MS":
			args[i] = strconv.FormatInt(ttl.Milliseconds(), 10)
		case "SECONDS":
			args[i] = strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10)
		case "UNTIL":
			args[i] = strconv.FormatInt(clock.Now().Add(ttl).UnixMilli(), 10)
		case "COUNTER":
			args[i] = e.key + ":token"
		}
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
	if e.lock.LateStart {
		sent = e.lock.reader.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.start = sent
}

func (e *lease) Validity() time.Duration {
	e.mu.Lock()
	start, released := e.start, e.released
	e.mu.Unlock()
	switch {
	case released:
		return 0
	case e.lock.Lasts:
		return forever
	}
	return e.lock.allowance.Validity(e.lock.config.TTL, e.lock.elapsed(start))
}

// Show returns the token for the resource. It is 0 if it can't be fetched: no guard accepts 0.
func (e *lease) Show(ctx context.Context) fencing.Token {
	e.mu.Lock()
	shown := e.shown
	e.mu.Unlock()
	switch {
	case e.lock.Recipe.Token == nil:
		return e.token
	case shown != 0:
		return shown
	}
	reply, err := e.do(ctx, e.lock.servers[0], e.lock.Recipe.Token)
	if err != nil {
		return 0
	}
	token := fencing.Token(max(0, reply.Int))
	if reply.Text != "" {
		if token, err = fencing.ParseToken(reply.Text); err != nil {
			return 0
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = token
	return token
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
	granted, refused, err := count(votes)
	switch needed := l.quorum(votes); {
	case refused > len(votes)-needed:
		return quorum.ErrLost
	case granted < needed:
		return errors.Join(quorum.ErrNotExtended, err)
	case !l.LateStart && l.allowance.Validity(l.config.TTL, l.elapsed(sent)) <= 0:
		return quorum.ErrNotExtended
	}
	e.begin(sent)
	return nil
}

// Release is the document's "Releasing the Lock": everywhere.
func (e *lease) Release(ctx context.Context) error {
	e.mu.Lock()
	again := e.released
	e.released = true
	e.mu.Unlock()
	if again {
		return quorum.ErrReleased
	}
	votes := e.ask(ctx, e.lock.Recipe.Release, nil)
	granted, refused, err := count(votes)
	switch needed := len(votes)/2 + 1; {
	case granted >= needed:
		return nil
	case refused > len(votes)-needed:
		return quorum.ErrNotHeld
	default:
		return errors.Join(quorum.ErrUnreachable, err)
	}
}
