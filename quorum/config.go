package quorum

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Switch turns a feature on or off. The zero Switch is On: a safety feature has to be turned off
// explicitly.
type Switch uint8

// The positions.
const (
	On Switch = iota
	Off
)

// Config sets up a Coordinator. The zero Config is ready to use: every field has a default,
// and everything that makes a lock safe is on.
type Config struct {
	// TTL is how long a lease lasts unless it is extended: whole milliseconds, longer than
	// twice InstanceTimeout plus the drift allowance plus MinValidity, at most MaxTTL.
	// Default 10 s.
	//
	// A longer TTL survives longer pauses of the holder. A shorter one frees the resource
	// sooner after the holder died.
	TTL time.Duration

	// KeepAlive makes Acquire and TryAcquire start Lease.KeepAlive on each lease. Do always
	// keeps its lease alive.
	KeepAlive bool

	// MaxLife bounds the time from the acquisition of a lease to its end, however it is
	// extended: at least TTL, at most ten years. Default 0: no bound.
	MaxLife time.Duration

	// MinValidity is the least validity that a new lease must have. With less the round is
	// lost (ErrTooSlow). Default 0: any validity above zero.
	MinValidity time.Duration

	// MaxTries bounds the tries of one Acquire. A try is a round. If another goroutine of this
	// process has the lock or waits for it, a try is only a look at that, made when a round would
	// be due if that goroutine were in another process. With 1, Acquire returns at once, like
	// TryAcquire. The last try works like TryAcquire: if the votes are split between clients that
	// try at once, it goes on until one of them has the lock. Default 0: no bound.
	MaxTries int

	// MaxWait bounds the time that one Acquire waits, on the Coordinator's clock, for a
	// holder in this process or another: more than 0. Default 0: no bound but the context's.
	MaxWait time.Duration

	// Note is a text about the lease that Inspect shows to others, such as its purpose: printable
	// UTF-8, at most 128 bytes. It is part of the lock's value, as Owner is. So the instances set
	// both in one step, and a note can't change while the lease lasts. Keep secrets out of it:
	// everybody who can read the keys sees it. Default: none.
	Note string

	// Quorum is how many instances must grant: N/2+1 to N. A higher quorum survives the loss
	// of a vote (an eviction, a FLUSHALL), at the price of availability. Default 0: N/2+1.
	Quorum int

	// InstanceTimeout bounds each request to each instance. Extensions by Lease.KeepAlive
	// wait up to four times as long while much validity is left, because a late answer is as
	// good as an early one. It counts from the moment at which there is a connection to the
	// instance (wire.Connector) and this client's earlier requests under the key have ended. It
	// should be at least three round trips to the instance: if it is too short for the distance,
	// errors and Verify say so. Default: a hundredth of TTL, but 50 ms to 500 ms, and at most a
	// quarter of TTL. At least 1 ms, and less than half of TTL.
	InstanceTimeout time.Duration

	// MaxTTL is the longest TTL that any client of these instances may use. A server that may
	// have lost votes is in quarantine for that long. If an address may move, TTL must be shorter
	// than MaxTTL by the time for which connections stay open (wire.Instance.ConnLife). All
	// clients must have the same MaxTTL: it is part of the Set's fingerprint, and a client with
	// another one is refused (ErrSetMismatch), unless Lab.RestartQuarantine is Off or no mark can
	// be kept. docs/running.md says how to change it. Whole milliseconds, at least TTL, at most a
	// year. Default 30 s.
	//
	// The servers' clocks must agree to within half of it, see assumption 3 of the package
	// documentation.
	MaxTTL time.Duration

	// Set names the set of instances. N, Q and MaxTTL are filled in.
	Set Set

	// Owner is a name for this client that Inspect shows to others: printable ASCII without
	// spaces, at most 64 bytes. Default: none.
	Owner string

	// Hooks are called when something happens. Default: none.
	Hooks Hooks

	// CloseAlso is closed by Coordinator.Close when nothing uses the instances any more, or when
	// Close's context has ended. Set it to the instances' instance.Group, so that one Close
	// closes everything. Default: none, and whoever opened the instances closes them.
	CloseAlso io.Closer

	// Lab is for tests and demonstrations. Leave it zero.
	Lab Lab
}

// Terms are the part of a Config that a view may change, see WithTerms. The fields are as in Config.
type Terms struct {
	TTL         time.Duration
	KeepAlive   bool
	MaxLife     time.Duration
	MinValidity time.Duration
	MaxTries    int
	MaxWait     time.Duration
	Note        string
}

// terms are the Config's.
func (c Config) terms() Terms {
	return Terms{
		TTL: c.TTL, KeepAlive: c.KeepAlive, MaxLife: c.MaxLife, MinValidity: c.MinValidity,
		MaxTries: c.MaxTries, MaxWait: c.MaxWait, Note: c.Note,
	}
}

// with is the Config with other terms.
func (c Config) with(t Terms) Config {
	c.TTL, c.KeepAlive, c.MaxLife, c.MinValidity = t.TTL, t.KeepAlive, t.MaxLife, t.MinValidity
	c.MaxTries, c.MaxWait, c.Note = t.MaxTries, t.MaxWait, t.Note
	return c
}

// Lab has settings for tests and demonstrations. No lock needs them. The zero Lab has all
// guarantees of the package documentation. Some of its fields cost one of them: a smaller Drift,
// RestartQuarantine Off and ClockMonitor Off cost exclusion, Fencing Off costs the order of
// tokens, and Notifications Off the order of arrival among processes.
type Lab struct {
	// Clock is the client's clock. Default: clock.New(), the machine's.
	Clock clock.Clock

	// Random is the source of values and delays. Reads must not fail, and need not be safe
	// for concurrent use; that of Coordinator.Config is. Default: crypto/rand.
	Random io.Reader

	// Drift is the allowance for clocks that run at different rates. Default (both fields
	// zero): drift.Default, 1 % and 2 ms. Set only Floor, to 1 ns, for almost none.
	Drift drift.Allowance

	// Fencing keeps a counter per resource on the instances, and each lease gets a fencing
	// token from it. Off sends the bare SET NX PX of the Redis document: Lease.Token is 0.
	Fencing Switch

	// RestartQuarantine ignores a server's votes until MaxTTL (and the drift allowance on it)
	// after the server came up, was promoted, got its first replica, or replaced another server,
	// or after the first client reached it under the instance's name, whatever its persistence
	// settings are. It also raises counters that may be older than the tokens that the server
	// gave, and detects two instances that are the same server, and clients of other sets.
	RestartQuarantine Switch

	// ClockMonitor ignores a server's votes for MaxTTL after its clock jumped.
	ClockMonitor Switch

	// ClockEvery is how often the monitor reads each instance's clock, also while no lock is
	// taken: more than 0. Default: half of MaxTTL, but 50 ms to 10 s.
	ClockEvery time.Duration

	// Notifications makes a release notify the processes that wait for the lock, on instances
	// that can do that (a Notifier), so that they need not poll. Processes are notified one at a
	// time, in the order of arrival. While a process waits, and for some seconds after, it keeps
	// one more connection to the instance that notifies it. Off makes waiters poll, as they do if
	// an instance cannot notify (Hooks.CannotNotify reports it).
	//
	// A process that polls steps back after its turns, so that no other process waits
	// forever. Acquire then waits before it asks again for the lock that this process has
	// just released: for BackoffMax and an InstanceTimeout if another process was seen to
	// want the lock, otherwise for a sixteenth of the time for which this process had it, but
	// at least BackoffMin. TryAcquire doesn't wait.
	Notifications Switch

	// BackoffMin and BackoffMax bound the delays between the rounds of Acquire. A delay is
	// random, from zero to a bound that doubles from BackoffMin to BackoffMax (full jitter).
	// A waiter that expects a notification still polls after a random delay of at most
	// BackoffMax, in case the notification is lost. No delay is longer than the holder's key
	// can live. Defaults 10 ms and 500 ms, at most a year.
	BackoffMin, BackoffMax time.Duration

	// MaxInFlight bounds the unanswered requests to one instance. Above it further votes fail
	// at once with ErrOverloaded. A quarter of it is kept for extensions and releases. The rest
	// also bounds the rounds for new locks that are under way at one time. Usually fewer are
	// under way: enough to keep the servers busy, and half as many each time that rounds time
	// out. Other rounds wait for their turn. Default 4096.
	MaxInFlight int

	// MaxPendingDeletes bounds the pending deletes of one instance. Above it the instance
	// isn't asked for votes (ErrOverloaded) until it has answered. Default 4096.
	MaxPendingDeletes int
}

// complete fills in the defaults and checks every field, for n instances.
func (c Config) complete(n int) (Config, error) {
	setDefault(&c.TTL, 10*time.Second)
	setDefault(&c.MaxTTL, defaultMaxTTL)
	setDefault(&c.InstanceTimeout, max(time.Millisecond, min(max(c.TTL/100, 50*time.Millisecond), 500*time.Millisecond, c.TTL/4)))
	if c.Hooks.Waiting == nil {
		c.Hooks.Waiting = logWaiting
	}
	setDefault(&c.Quorum, majority.Of(n).Q)
	c.Lab = c.Lab.complete(c.MaxTTL)
	if c.Set.N != 0 || c.Set.Q != 0 || c.Set.MaxTTL != 0 {
		return c, fmt.Errorf("%w: Set.N, Set.Q and Set.MaxTTL are %d, %d and %v, leave them zero: they follow from the instances, Quorum and MaxTTL", ErrConfig, c.Set.N, c.Set.Q, c.Set.MaxTTL)
	}
	c.Set.N, c.Set.Q, c.Set.MaxTTL = n, c.Quorum, c.MaxTTL
	return c, c.validate(n)
}

// complete fills in the defaults.
func (l Lab) complete(maxTTL time.Duration) Lab {
	if l.Clock == nil {
		l.Clock = clock.New()
	}
	if l.Random == nil {
		l.Random = rand.Reader
	}
	if l.Drift == (drift.Allowance{}) {
		l.Drift = drift.Default()
	}
	setDefault(&l.ClockEvery, min(max(maxTTL/2, 50*time.Millisecond), 10*time.Second))
	setDefault(&l.BackoffMin, 10*time.Millisecond)
	setDefault(&l.BackoffMax, max(500*time.Millisecond, l.BackoffMin))
	setDefault(&l.MaxInFlight, 4096)
	setDefault(&l.MaxPendingDeletes, 4096)
	return l
}

// ahead is wire.Fence.Ahead: half of the quarantine of a server that may have lost its counters.
// The other half is for clocks that disagree, see package settlement.
//
//guard:clock-outruns-counter  after a quarantine the clock is above every token that a lost counter gave
func (c *Config) ahead() time.Duration { return c.MaxTTL / 2 }

// quarantine is how long a server's votes are ignored that may have lost some.
func (c *Config) quarantine() time.Duration { return c.MaxTTL + c.Lab.Drift.Of(c.MaxTTL) }

// counterTTL is wire.Fence.TTL: how long a resource's counter is kept at least after the server's
// clock has passed the token that it started at, or was last raised to. Grants don't prolong that,
// because a counter that expires starts again from the clock, which is above every token that it gave.
// At least a day, so that a key that is locked now and then keeps its counter, and ten times MaxTTL,
// or tokens could start anew while a lease is held.
func (c *Config) counterTTL() time.Duration { return max(24*time.Hour, 10*c.MaxTTL) }

// clockTolerance is the largest jump of a server's clock that is ignored: half of the drift
// allowance, because the other half is for clocks that run at different rates. It is no less than 1 ms,
// because some servers answer with a cached time, and no more than 10 ms, which covers that.
func (c *Config) clockTolerance() time.Duration {
	return min(max(c.Lab.Drift.Of(c.MaxTTL)/2, time.Millisecond), 10*time.Millisecond)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate(n int) error {
	if least := majority.Of(n).Q; c.Quorum < least || c.Quorum > n {
		return fmt.Errorf("%w: Quorum is %d, want %d to %d for %d instances: with fewer than a majority two clients can hold the lock at once",
			ErrConfig, c.Quorum, least, n, n)
	}
	if err := c.Set.ValidateName(); err != nil {
		return err
	}
	// Before the fields whose defaults follow from it, or the error would name those.
	if err := validMillis("TTL", c.TTL); err != nil {
		return err
	}
	if c.InstanceTimeout < time.Millisecond {
		return fmt.Errorf("%w: InstanceTimeout is %v, want at least 1ms: no server answers faster than that reliably", ErrConfig, c.InstanceTimeout)
	}
	if c.InstanceTimeout > maxMaxTTL { // else computations with it could overflow
		return fmt.Errorf("%w: InstanceTimeout is %v, want less than half of TTL", ErrConfig, c.InstanceTimeout)
	}
	if err := validMillis("MaxTTL", c.MaxTTL); err != nil {
		return err
	}
	if c.MaxTTL > maxMaxTTL {
		return fmt.Errorf("%w: MaxTTL is %v, want at most %v: counters must outlive ten times MaxTTL", ErrConfig, c.MaxTTL, maxMaxTTL)
	}
	if err := c.Lab.validate(); err != nil {
		return err
	}
	return validOwner(c.Owner)
}

func (l Lab) validate() error {
	if err := l.Drift.Validate(); err != nil {
		return fmt.Errorf("%w: Lab.Drift: %w", ErrConfig, err)
	}
	for _, bound := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"MaxInFlight", l.MaxInFlight, l.MaxInFlight < 0}, {"MaxPendingDeletes", l.MaxPendingDeletes, l.MaxPendingDeletes < 0},
		{"ClockEvery", l.ClockEvery, l.ClockEvery < 0}, {"BackoffMin", l.BackoffMin, l.BackoffMin < 0},
	} {
		if bound.negative {
			return fmt.Errorf("%w: Lab.%s is %v, want more than zero, or zero for the default", ErrConfig, bound.name, bound.value)
		}
	}
	for _, s := range []struct {
		name  string
		value Switch
	}{
		{"Fencing", l.Fencing}, {"RestartQuarantine", l.RestartQuarantine}, {"ClockMonitor", l.ClockMonitor},
		{"Notifications", l.Notifications},
	} {
		if s.value > Off {
			return fmt.Errorf("%w: Lab.%s is %d, want On (0) or Off (1)", ErrConfig, s.name, s.value)
		}
	}
	if l.BackoffMax < l.BackoffMin {
		return fmt.Errorf("%w: Lab.BackoffMax is %v, want at least Lab.BackoffMin, which is %v", ErrConfig, l.BackoffMax, l.BackoffMin)
	}
	if l.BackoffMax > maxMaxTTL { // as for InstanceTimeout
		return fmt.Errorf("%w: Lab.BackoffMax is %v, want at most %v", ErrConfig, l.BackoffMax, maxMaxTTL)
	}
	return nil
}

// validate checks the terms against the Config that they are used with.
func (t Terms) validate(c Config) error {
	if err := validMillis("TTL", t.TTL); err != nil {
		return err
	}
	if err := validNote(t.Note); err != nil {
		return err
	}
	if t.MinValidity < 0 || t.MaxTries < 0 || t.MaxWait < 0 || t.MaxLife < 0 {
		return fmt.Errorf("%w: MinValidity %v, MaxTries %d, MaxWait %v, MaxLife %v: none may be negative, zero means no bound", ErrConfig, t.MinValidity, t.MaxTries, t.MaxWait, t.MaxLife)
	}
	if t.MaxLife > maxMaxLife { // a Handle's computations could overflow
		return fmt.Errorf("%w: MaxLife is %v, want at most %v, or zero for no bound", ErrConfig, t.MaxLife, maxMaxLife)
	}
	if t.MaxLife != 0 && t.MaxLife < t.TTL {
		return fmt.Errorf("%w: MaxLife is %v, shorter than one TTL (%v): raise it, or lower TTL", ErrConfig, t.MaxLife, t.TTL)
	}
	// A round may take one timeout to ask and one to settle the token.
	if eaten := 2*c.InstanceTimeout + c.Lab.Drift.Of(t.TTL); t.TTL-eaten <= t.MinValidity {
		return fmt.Errorf("%w: TTL is %v, but two InstanceTimeouts (%v each) and the drift allowance (%v) can leave %v of it, which is no more than MinValidity (%v): raise TTL or lower the others",
			ErrConfig, t.TTL, c.InstanceTimeout, c.Lab.Drift.Of(t.TTL), t.TTL-eaten, t.MinValidity)
	}
	return nil
}

// defaultMaxTTL allows longer TTLs than the default without a change of MaxTTL in all
// clients, and keeps the wait at a first start short.
const defaultMaxTTL = 30 * time.Second

// maxMaxTTL allows for counters that live ten times as long, see validMillis.
const maxMaxTTL = 365 * 24 * time.Hour

// maxMaxLife is the longest MaxLife: ten years.
const maxMaxLife = 10 * maxMaxTTL

// Set identifies the instances that a client uses, see wire.Set.
type Set = wire.Set

// Limits on names, in bytes.
const (
	maxKey   = 1024
	maxOwner = 64  // Config.Owner
	maxNote  = 128 // Config.Note
)

// ValidateKey checks the name of a resource: 1 to 1024 bytes, without NUL and braces. The error
// is ErrConfig.
func ValidateKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty, give the resource a name", ErrConfig)
	case len(key) > maxKey:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed; use a hash of it", ErrConfig, len(key), maxKey)
	}
	if i := strings.IndexAny(key, "\x00{}"); i >= 0 {
		return fmt.Errorf("%w: the key %q has a %q at byte %d; NUL and braces are not allowed: braces mark the part of a key that decides its slot, and the counter's key needs them", ErrConfig, key, key[i], i)
	}
	return nil
}

// validOwner checks the name of a client.
func validOwner(owner string) error {
	if len(owner) > maxOwner {
		return fmt.Errorf("%w: Owner has %d bytes, at most %d are allowed", ErrConfig, len(owner), maxOwner)
	}
	for i := range len(owner) {
		if owner[i] <= ' ' || owner[i] > '~' {
			return fmt.Errorf("%w: Owner %q has the byte %q, use printable ASCII without spaces", ErrConfig, owner, owner[i])
		}
	}
	return nil
}

// validNote checks a text about a lease.
func validNote(note string) error {
	if len(note) > maxNote {
		return fmt.Errorf("%w: Note has %d bytes, at most %d are allowed", ErrConfig, len(note), maxNote)
	}
	if i := strings.IndexFunc(note, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }); i >= 0 {
		return fmt.Errorf("%w: Note %q has a character at byte %d that can't be printed, use printable UTF-8", ErrConfig, note, i)
	}
	return nil
}

// validMillis checks that PX can carry a duration.
func validMillis(name string, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("%w: %s is %v, want at least 1ms: servers count time to live in milliseconds", ErrConfig, name, d)
	case d > 10*365*24*time.Hour:
		return fmt.Errorf("%w: %s is %v, want at most ten years", ErrConfig, name, d)
	case d%time.Millisecond != 0:
		return fmt.Errorf("%w: %s is %v, want whole milliseconds, such as %v", ErrConfig, name, d, d.Round(time.Millisecond))
	}
	return nil
}
