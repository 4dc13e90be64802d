package quorum

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Limits on what names a lock.
const (
	// MaxKey is the longest key, in bytes.
	MaxKey = 1024
	// MaxOwner is the longest Config.Owner, in bytes.
	MaxOwner = 64
)

// Switch turns a feature on or off. The zero Switch is On: what keeps a lock
// safe has to be turned off by name.
type Switch uint8

// The positions.
const (
	On Switch = iota
	Off
)

// Terms are the conditions on which locks are taken. A Coordinator has those of
// its Config; WithTerms gives a view of it with others.
type Terms struct {
	// TTL is how long a lease lasts unless it is extended: whole milliseconds,
	// longer than twice InstanceTimeout plus the drift allowance plus
	// MinValidity, at most MaxTTL. Default 10 s.
	//
	// A longer TTL survives longer pauses of the holder; a shorter one frees
	// the resource sooner after the holder died.
	TTL time.Duration

	// MinValidity is the least validity that a lease must have when it is
	// handed out; with less the round is lost (ErrTooSlow). Default 0: any
	// validity above zero.
	MinValidity time.Duration

	// MaxTries bounds the tries of one Acquire. A try is a round, or a look at a lock
	// that another goroutine of this process has or waits for, at the moments at which
	// a round would be due if it were another process. With 1 Acquire returns at once,
	// like TryAcquire. Default 0: no bound.
	MaxTries int

	// MaxWait bounds the time that one Acquire waits, on the Coordinator's
	// clock, wherever the holder is. Default 0: no bound but the context's.
	MaxWait time.Duration

	// KeepAlive, if set, makes Acquire and TryAcquire start Lease.KeepAlive on
	// each lease. Do keeps its lease alive in any case.
	KeepAlive bool

	// MaxLife bounds the whole life of a lease, from its acquisition, however it
	// is extended: at least TTL. Default 0: no bound.
	MaxLife time.Duration
}

// Config sets up a Coordinator. The zero Config is ready to use: every field has
// a default, and what is safe is on.
type Config struct {
	Terms

	// Quorum is how many instances must grant. Default 0: N/2+1. From there to
	// N: a higher one survives the loss of a vote (an eviction, a FLUSHALL) at
	// the price of availability. Fewer than N/2+1 is refused.
	Quorum int

	// InstanceTimeout bounds each command to each instance, but for extensions by
	// Lease.KeepAlive: while much validity is left, these wait for an answer for up
	// to four times as long, because a late one is as good. Default: a
	// hundredth of TTL, but 50 ms to 500 ms, and at most a quarter of TTL. At
	// least 1 ms, and less than half of TTL.
	InstanceTimeout time.Duration

	// Drift is the allowance for clocks that run at different rates. Default
	// (both fields zero): drift.Default, 1 % and 2 ms.
	Drift drift.Allowance

	// NoDrift makes a zero Drift mean no allowance at all. For demonstrations.
	NoDrift bool

	// Fencing keeps a counter per resource on the instances and gives each
	// lease a fencing token from it. Off sends the bare SET NX PX of the Redis
	// document: Lease.Token is 0, and clients that disagree on the set of
	// instances are not noticed.
	Fencing Switch

	// CounterTTL is how long a resource's counter lives after each grant, at the
	// least; the instances may keep it for half as long again. Whole milliseconds,
	// at least ten times MaxTTL, so that it outlives its last lease by far.
	// Default 24 h, or ten times MaxTTL if that is more.
	CounterTTL time.Duration

	// Set names the set of instances. N, Q and MaxTTL are filled in.
	Set Set

	// MaxTTL is the longest TTL that any client of these instances may use, and how
	// long an instance that may lack votes stays out of the voting. Where an address may
	// move, the time for which connections live comes off the TTL, see Instance.ConnLife. All clients must
	// have the same: it is part of the Set's fingerprint, and a client with another
	// one is refused (ErrSetMismatch), unless Fencing is Off. docs/running.md says
	// how to change it. Whole milliseconds, at least TTL, at most a year. Default
	// 30 s.
	//
	// Half of it is how far the servers' clocks may be apart, see assumption 3 of the
	// package documentation.
	MaxTTL time.Duration

	// RestartQuarantine keeps an instance from voting until MaxTTL (and the drift
	// allowance on it) after it came up, was promoted, or turned out to be another
	// server, or after the first client came to it by its name, whatever it keeps on disk; has it lift counters that may be older than
	// the tokens it gave; and notices that two instances are one server.
	RestartQuarantine Switch

	// ClockMonitor keeps an instance from voting for MaxTTL after its clock
	// jumped.
	ClockMonitor Switch

	// ClockEvery is how often the monitor reads an instance's clock when no
	// lock is taken. Default: half of MaxTTL, but 50 ms to 10 s.
	ClockEvery time.Duration

	// ClockTolerance is the largest jump that is let pass. Default: half of the
	// drift allowance on MaxTTL, but 1 ms to 10 ms.
	ClockTolerance time.Duration

	// MaxInFlight bounds the unanswered commands to one instance; above it
	// their votes fail at once with ErrOverloaded. A quarter of it is kept for
	// extensions and releases. The rest also bounds the rounds for locks that are
	// under way at one time. When rounds time out, or take longer than a quarter of
	// InstanceTimeout and three times as long as the quickest one that was won, fewer
	// are begun (ErrOverloaded). Default 4096.
	MaxInFlight int

	// MaxPendingDeletes bounds the deletes that one instance may be owed; above it the
	// instance isn't asked for votes (ErrOverloaded) until it has answered.
	// Default 4096.
	MaxPendingDeletes int

	// BackoffMin and BackoffMax bound the pauses between the rounds of Acquire:
	// random, from zero to a bound that doubles from the one to the other
	// (full jitter). Who will be called when the lock is released looks by itself
	// after a random pause of up to BackoffMax, in case the call is lost. Nobody
	// pauses for longer than the holder's key can live. Defaults 10 ms and 500 ms, at
	// most a year.
	BackoffMin, BackoffMax time.Duration

	// Notifications has those who wait for a lock called when it is released, on
	// instances that can do that (a Listener), so that they need not poll: calls
	// go to one process at a time, in the order in which they came to wait. While a
	// process waits, and for some seconds after, it keeps one connection more to
	// the instance that it is called by. Off makes waiters poll, as they do where
	// they can't be called (Hooks.CannotNotify tells).
	//
	// A process that polls steps back after its turns, so that none that waits is
	// passed over again and again. Acquire pauses then before it asks again for what
	// the process has just released: for BackoffMax and an InstanceTimeout if another
	// process was seen to want the lock, and else for a sixteenth of the time for
	// which the process had it, but at least BackoffMin. TryAcquire doesn't pause.
	Notifications Switch

	// Cohorts lets goroutines of this Coordinator that wait for the same key follow
	// each other without a round: a lease that is released within the first tenth of
	// its validity is handed to the next local waiter, with its remaining validity and
	// the next of the tokens that its round reserved. After as many turns as goroutines
	// waited, or twice as many where the lock is held for moments, other processes are
	// let in. A lease that was extended isn't handed on, and none is where processes
	// poll (see Notifications). Off has a round for each lease, and a check
	// in each release.
	Cohorts Switch

	// Owner is a name for this client that Inspect shows to others: printable
	// ASCII without spaces, at most MaxOwner bytes. Default: none.
	Owner string

	// Clock is what time is taken from. Default: clock.New(), the machine's.
	Clock clock.Clock

	// Random is what values and pauses are drawn from; reads must not fail and
	// need not be safe for concurrent use. Default: crypto/rand.
	Random io.Reader

	// Hooks are told what happens. Default: none.
	Hooks Hooks
}

// complete fills in the defaults and checks every field, for n instances.
func (c Config) complete(n int) (Config, error) {
	setDefault(&c.TTL, 10*time.Second)
	setDefault(&c.MaxTTL, defaultMaxTTL)
	setDefault(&c.InstanceTimeout, max(time.Millisecond, min(max(c.TTL/100, 50*time.Millisecond), 500*time.Millisecond, c.TTL/4)))
	setDefault(&c.CounterTTL, max(24*time.Hour, 10*c.MaxTTL))
	setDefault(&c.ClockEvery, min(max(c.MaxTTL/2, 50*time.Millisecond), 10*time.Second))
	if c.Hooks.Waiting == nil {
		c.Hooks.Waiting = logWaiting
	}
	setDefault(&c.MaxInFlight, 4096)
	setDefault(&c.MaxPendingDeletes, 4096)
	setDefault(&c.BackoffMin, 10*time.Millisecond)
	setDefault(&c.BackoffMax, max(500*time.Millisecond, c.BackoffMin))
	setDefault(&c.Quorum, MajorityOf(n).Q)
	if c.Drift == (drift.Allowance{}) && !c.NoDrift {
		c.Drift = drift.Default()
	}
	setDefault(&c.ClockTolerance, min(max(c.Drift.Of(c.MaxTTL)/2, time.Millisecond), 10*time.Millisecond))
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Set.N != 0 || c.Set.Q != 0 || c.Set.MaxTTL != 0 {
		return c, fmt.Errorf("%w: Set.N, Set.Q and Set.MaxTTL are %d, %d and %v, leave them zero: they follow from the instances, Quorum and MaxTTL", ErrConfig, c.Set.N, c.Set.Q, c.Set.MaxTTL)
	}
	c.Set.N, c.Set.Q, c.Set.MaxTTL = n, c.Quorum, c.MaxTTL
	return c, c.validate(n)
}

// ahead is Request.Ahead: half of the quarantine that a server sits out before it votes
// again. The other half is for clocks that disagree, see round.
//
//guard:clock-outruns-counter  after a quarantine the clock is above every token that a lost counter gave
func (c *Config) ahead() time.Duration { return c.MaxTTL / 2 }

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate(n int) error {
	//guard:quorum-is-majority  a Quorum below the majority is refused
	if least := MajorityOf(n).Q; c.Quorum < least || c.Quorum > n {
		return fmt.Errorf("%w: Quorum is %d, want %d to %d for %d instances: with fewer than a majority two clients can hold the lock at once",
			ErrConfig, c.Quorum, least, n, n)
	}
	if err := c.Drift.Validate(); err != nil {
		return fmt.Errorf("%w: Drift: %w", ErrConfig, err)
	}
	if err := c.Set.ValidateName(); err != nil {
		return err
	}
	// Before those whose defaults follow from it, or they would be blamed.
	if err := wholeMillis("TTL", c.TTL); err != nil {
		return err
	}
	if c.InstanceTimeout < time.Millisecond {
		return fmt.Errorf("%w: InstanceTimeout is %v, want at least 1ms: no server answers faster for sure", ErrConfig, c.InstanceTimeout)
	}
	//guard:timeout-bounded  an InstanceTimeout that is too long for every TTL is refused
	if c.InstanceTimeout > maxMaxTTL { // else what is computed with it could overflow
		return fmt.Errorf("%w: InstanceTimeout is %v, want less than half of TTL", ErrConfig, c.InstanceTimeout)
	}
	if err := wholeMillis("MaxTTL", c.MaxTTL); err != nil {
		return err
	}
	if c.MaxTTL > maxMaxTTL {
		return fmt.Errorf("%w: MaxTTL is %v, want at most %v: counters must outlive ten of it", ErrConfig, c.MaxTTL, maxMaxTTL)
	}
	if err := wholeMillis("CounterTTL", c.CounterTTL); err != nil {
		return err
	}
	if c.CounterTTL/10 < c.MaxTTL {
		return fmt.Errorf("%w: CounterTTL is %v, want at least %v (ten times MaxTTL), or tokens could start anew while a lease is held", ErrConfig, c.CounterTTL, 10*c.MaxTTL)
	}
	for _, bound := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"MaxInFlight", c.MaxInFlight, c.MaxInFlight < 0}, {"MaxPendingDeletes", c.MaxPendingDeletes, c.MaxPendingDeletes < 0},
		{"ClockEvery", c.ClockEvery, c.ClockEvery < 0}, {"ClockTolerance", c.ClockTolerance, c.ClockTolerance < 0},
		{"BackoffMin", c.BackoffMin, c.BackoffMin < 0},
	} {
		if bound.negative {
			return fmt.Errorf("%w: %s is %v, want more than zero, or zero for the default", ErrConfig, bound.name, bound.value)
		}
	}
	if c.BackoffMax < c.BackoffMin {
		return fmt.Errorf("%w: BackoffMax is %v, want at least BackoffMin, which is %v", ErrConfig, c.BackoffMax, c.BackoffMin)
	}
	if c.BackoffMax > maxMaxTTL { // the same
		return fmt.Errorf("%w: BackoffMax is %v, want at most %v", ErrConfig, c.BackoffMax, maxMaxTTL)
	}
	if err := validateOwner(c.Owner); err != nil {
		return err
	}
	return c.Terms.validate(c)
}

// validate checks the terms against the Config that they are used with.
func (t Terms) validate(c Config) error {
	if err := wholeMillis("TTL", t.TTL); err != nil {
		return err
	}
	if err := c.covers(t.TTL); err != nil {
		return err
	}
	if t.MinValidity < 0 || t.MaxTries < 0 || t.MaxWait < 0 || t.MaxLife < 0 {
		return fmt.Errorf("%w: MinValidity %v, MaxTries %d, MaxWait %v, MaxLife %v: none may be negative, zero means no bound", ErrConfig, t.MinValidity, t.MaxTries, t.MaxWait, t.MaxLife)
	}
	if t.MaxLife != 0 && t.MaxLife < t.TTL {
		return fmt.Errorf("%w: MaxLife is %v, shorter than one TTL (%v): raise it, or lower TTL", ErrConfig, t.MaxLife, t.TTL)
	}
	// A round may take one timeout to ask and one to settle the token.
	if eaten := 2*c.InstanceTimeout + c.Drift.Of(t.TTL); t.TTL-eaten <= t.MinValidity {
		return fmt.Errorf("%w: TTL is %v, but two InstanceTimeouts (%v each) and the drift allowance (%v) can leave %v of it, which is no more than MinValidity (%v): raise TTL or lower the others",
			ErrConfig, t.TTL, c.InstanceTimeout, c.Drift.Of(t.TTL), t.TTL-eaten, t.MinValidity)
	}
	return nil
}

// covers refuses a TTL above MaxTTL.
func (c *Config) covers(ttl time.Duration) error {
	if ttl > c.MaxTTL {
		return fmt.Errorf("%w: TTL is %v, but MaxTTL is %v: raise MaxTTL in all clients, because an instance that was restarted stays out of the voting for as long as the longest lease", ErrConfig, ttl, c.MaxTTL)
	}
	return nil
}

// defaultMaxTTL leaves room for other TTLs than the default, without a change of MaxTTL
// in all clients, and keeps the first start from taking longer than somebody waits.
const defaultMaxTTL = 30 * time.Second

// maxMaxTTL leaves room for counters that live ten times as long, see wholeMillis.
const maxMaxTTL = 365 * 24 * time.Hour

// wholeMillis holds a duration to what PX can carry.
func wholeMillis(name string, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("%w: %s is %v, want at least 1ms: servers count time to live in milliseconds", ErrConfig, name, d)
	case d%time.Millisecond != 0:
		return fmt.Errorf("%w: %s is %v, want whole milliseconds, such as %v", ErrConfig, name, d, d.Round(time.Millisecond))
	case d > 10*365*24*time.Hour:
		return fmt.Errorf("%w: %s is %v, want at most ten years", ErrConfig, name, d)
	}
	return nil
}

// validateKey checks the name of a resource.
func validateKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty, give the resource a name", ErrConfig)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed; use a hash of it", ErrConfig, len(key), MaxKey)
	}
	if i := strings.IndexAny(key, "\x00{}"); i >= 0 {
		return fmt.Errorf("%w: the key %q has a %q at byte %d; NUL and braces are not allowed: the braces mark what decides a key's slot, and the counter's key is put in them", ErrConfig, key, key[i], i)
	}
	return nil
}

func validateOwner(owner string) error {
	if len(owner) > MaxOwner {
		return fmt.Errorf("%w: Owner has %d bytes, at most %d are allowed", ErrConfig, len(owner), MaxOwner)
	}
	for i := range len(owner) {
		if owner[i] <= ' ' || owner[i] > '~' {
			return fmt.Errorf("%w: Owner %q has the byte %q, use printable ASCII without spaces", ErrConfig, owner, owner[i])
		}
	}
	return nil
}

// Set identifies the instances that a client uses, see wire.Set.
type Set = wire.Set
