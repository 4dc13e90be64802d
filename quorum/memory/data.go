package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Data is a server's data, and executes requests on it exactly. It has no network and no
// clock, so that servers in simulated time can use it. It isn't safe for concurrent use.
type Data struct {
	// Keys are the locks' keys.
	Keys Table[string]
	// Counters are what was last counted for the resources. A server that drops keys may drop them.
	Counters Table[fencing.Token]

	// Estimate is the server's clock as the Instance estimates it, from which a counter starts that the
	// request says no token for. It gets the resource and the true clock. nil: the true clock.
	Estimate func(key string, clock time.Time) time.Time

	queues Table[[]string] // the addresses of the waiters for a key
	asked  int             // requests since the last sweep
	full   int             // how many are enough to look for expired entries

	// Notify notifies the waiter with an address that a key was released. It reports
	// whether the waiter has a subscription. nil: no waiter has one.
	Notify func(address, key string) bool
}

// NewData returns empty data.
func NewData() *Data {
	return &Data{Keys: Table[string]{}, Counters: Table[fencing.Token]{}, queues: Table[[]string]{}}
}

// Flush deletes everything.
func (d *Data) Flush() {
	clear(d.Keys)
	clear(d.Counters)
	clear(d.queues)
}

// sweep drops what has expired and was never asked for again, after as many requests as the last sweep
// left entries. So a sweep costs each request the same, however many entries there are, and what is left of
// a time with many of them goes, too.
func (d *Data) sweep(now time.Time) {
	d.asked++
	if d.asked < max(d.full, 256) {
		return
	}
	d.Keys.sweep(now)
	d.Counters.sweep(now)
	d.queues.sweep(now)
	d.asked, d.full = 0, len(d.Keys)+len(d.Counters)+len(d.queues)
}

// Table is a map whose entries expire.
type Table[V any] map[string]row[V]

type row[V any] struct {
	value   V
	expires time.Time
}

func (r row[V]) expired(now time.Time) bool {
	return !r.expires.IsZero() && !now.Before(r.expires)
}

func (t Table[V]) sweep(now time.Time) {
	maps.DeleteFunc(t, func(_ string, r row[V]) bool { return r.expired(now) })
}

// Get returns what the table has at now, and the time at which it expires: zero for never.
func (t Table[V]) Get(key string, now time.Time) (value V, expires time.Time, ok bool) {
	r, ok := t[key]
	if ok && r.expired(now) {
		delete(t, key)
		r, ok = row[V]{}, false
	}
	return r.value, r.expires, ok
}

// Put sets an entry, which expires at a time: zero for never.
func (t Table[V]) Put(key string, value V, expires time.Time) { t[key] = row[V]{value, expires} }

// Delete deletes an entry, and reports whether it existed at now.
func (t Table[V]) Delete(key string, now time.Time) bool {
	_, _, ok := t.Get(key, now)
	delete(t, key)
	return ok
}

// List returns the keys of the entries that exist at now, sorted.
func (t Table[V]) List(now time.Time) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(key string) bool {
		_, _, ok := t.Get(key, now)
		return !ok
	})
}

// remaining is a key's PTTL, rounded up: a key that exists never has 0.
func remaining(expires, now time.Time) time.Duration {
	if expires.IsZero() {
		return wire.NoExpiry
	}
	return (expires.Sub(now) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// otherRun is the error of a request to a server that isn't in the run that the request names, or is no
// master: a *wire.RunError. It is a *wire.SetMismatchError if only the set is another one, which an Acquire
// alone compares. nil: there is no error.
func otherRun(cmd wire.Request, id wire.Identity) error {
	if cmd.Run == "" {
		return nil
	}
	if cmd.Run.Epoch() == "" {
		id.Mark = "" // it isn't looked at
	}
	now := id.Run()
	switch {
	case cmd.Run == now:
		return nil
	case !cmd.Run.SameAs(now):
		return &wire.RunError{Asked: cmd.Run, Found: cmp.Or(id.Mark, wire.Run(id.ReplID)), Role: id.Role}
	case cmd.Op != wire.Acquire:
		return nil
	}
	mine, _ := wire.ParseSet(cmd.Run.Set())
	return &wire.SetMismatchError{Mine: mine, Theirs: now.Set()}
}
