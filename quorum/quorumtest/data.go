package quorumtest

import (
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Data is a server's data alone, with the exact meaning of every command and
// without a network or a clock: for those who build servers of their own, such as
// one in simulated time. It isn't safe for concurrent use.
type Data struct{ store store }

// NewData gives a server's data before the first command.
func NewData() *Data { return &Data{store: newStore()} }

// Run carries out one command at the moment now of the server's wall clock. A
// command that package quorum never sends fails with ErrBadCommand, Unsent. Data is in
// no run: see OtherRun for that.
func (d *Data) Run(cmd wire.Request, now time.Time) wire.Vote { return d.store.run(cmd, now) }

// RunFor is Run, and also carries out a Notifier's Enqueue and Dequeue of a waiting process,
// with that as the operation of the request.
func (d *Data) RunFor(w wire.Waiter, req wire.Request, now time.Time) wire.Vote {
	return d.store.carryOut(req, w, now)
}

// OnNotify sets what notifies the process with an address that a key was released. It
// reports whether the process has a subscription. Run and RunFor call it.
func (d *Data) OnNotify(notify func(address, key string) bool) { d.store.notify = notify }

// Waiting lists the addresses in the wait queue of a key, the first one first.
func (d *Data) Waiting(key string, now time.Time) []string {
	return slices.Clone(d.store.queue(key, now).waiters)
}

// Holder gives the value that key has at now and the moment at which it expires
// (zero for a key that lives for ever), and whether it exists.
func (d *Data) Holder(key string, now time.Time) (value string, expires time.Time, ok bool) {
	e, ok := d.store.key(key, now)
	return e.value, e.expires, ok
}

// Put sets a key as somebody else would: with a time to live, or for ever if it
// is quorum.NoExpiry. No counter is touched.
func (d *Data) Put(key, value string, ttl time.Duration, now time.Time) {
	if ttl == wire.NoExpiry {
		d.PutUntil(key, value, time.Time{})
		return
	}
	d.PutUntil(key, value, now.Add(ttl))
}

// PutUntil is Put with the moment at which the key expires, zero for never.
func (d *Data) PutUntil(key, value string, expires time.Time) {
	d.store.keys[key] = entry{value, expires}
}

// Delete drops a key, whoever holds it, and reports whether it existed at now.
func (d *Data) Delete(key string, now time.Time) bool {
	_, ok := d.store.key(key, now)
	delete(d.store.keys, key)
	return ok
}

// Keys lists the keys that exist at now, sorted.
func (d *Data) Keys(now time.Time) []string { return d.store.live(now) }

// Counters lists the resources that have a counter at now, sorted.
func (d *Data) Counters(now time.Time) []string {
	keys := slices.Sorted(maps.Keys(d.store.counters))
	return slices.DeleteFunc(keys, func(key string) bool {
		_, ok := d.store.counter(key, now)
		return !ok
	})
}

// Records lists the resources that have a record, of the set and the run under
// which they were last locked, at now, sorted.
func (d *Data) Records(now time.Time) []string {
	keys := slices.Sorted(maps.Keys(d.store.records))
	return slices.DeleteFunc(keys, func(key string) bool {
		_, ok := d.store.record(key, now)
		return !ok
	})
}

// Record gives a resource's record at now: the text of the set under which it was last
// locked, and the run of the server in which its counter was last granted from (a
// Command's Run). Both are empty if there is none.
func (d *Data) Record(key string, now time.Time) (set string, run wire.Run) {
	r, _ := d.store.record(key, now)
	return r.set, r.run
}

// PutRun writes into a resource's record that its counter was last granted from in
// that run, as data has it that comes from an earlier run of the server. Without a
// record it does nothing.
func (d *Data) PutRun(key string, run wire.Run, now time.Time) {
	if r, ok := d.store.record(key, now); ok {
		r.run = run
		d.store.records[key] = r
	}
}

// OtherRun is the failure of a command that is sent to a server which isn't in the run
// that the command names, or is no master; nil if it is carried out.
func OtherRun(cmd wire.Request, id wire.Identity) *wire.RunError {
	if cmd.Run == "" {
		return nil
	}
	if cmd.Run.Epoch() == "" {
		id.Epoch = "" // it isn't looked at
	}
	if cmd.Run == id.Run() {
		return nil
	}
	return &wire.RunError{Asked: cmd.Run, Found: wire.RunOf(id.ReplID, id.Epoch), Role: id.Role}
}

// Forget drops a resource's counter, and reports whether it existed at now. The record
// beside it stays.
func (d *Data) Forget(key string, now time.Time) bool {
	_, ok := d.store.counter(key, now)
	delete(d.store.counters, key)
	return ok
}

// ForgetRecord drops a resource's record, and reports whether it existed at now. The
// counter stays.
func (d *Data) ForgetRecord(key string, now time.Time) bool {
	_, ok := d.store.record(key, now)
	delete(d.store.records, key)
	return ok
}

// Flush drops all keys, all counters with their records, and all wait queues.
func (d *Data) Flush() {
	clear(d.store.keys)
	clear(d.store.counters)
	clear(d.store.records)
	clear(d.store.queues)
}

// Counter gives a resource's counter, 0 if there is none.
func (d *Data) Counter(key string, now time.Time) fencing.Token {
	c, _ := d.store.counter(key, now)
	return c.token
}
