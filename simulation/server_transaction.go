package simulation

import (
	"time"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// unvouched is in place of a run where a transaction made the counter.
const unvouched wire.Run = "?"

// execute executes one of the library's commands. The simulated servers still do what package
// instance did while it asked by transactions, whose writes don't depend on what the server finds,
// at its worst: where the lock is held, the counter rises or is made for nothing. A transaction
// that makes a counter and a script that does differ in the record beside it. One in 64 is made by a
// transaction, as the token has it.
func (d database) execute(c *call, now time.Time) wire.Vote {
	if d.exact {
		return d.RunFor(c.waiter, c.cmd, now)
	}
	usual, made := d.usual(c.cmd, now), d.makes(c.cmd, now) && c.cmd.Fence.Token%64 == 0
	_, until, held := d.Keys.Get(c.cmd.Key, now)
	vote := d.RunFor(c.waiter, c.cmd, now)
	if held && c.cmd.Op == wire.Restore && vote.Outcome == wire.Granted && len(c.cmd.Also) == 0 {
		d.Keys.Put(c.cmd.Key, c.cmd.Value, until) // the key of a lease on one kept its time
	}
	if usual && vote.Outcome == wire.Refused && vote.Err == nil {
		d.spill(c.cmd, now)
	}
	bare := !c.cmd.Fence.On && c.cmd.Run == "" && c.cmd.Replace == "" && len(c.cmd.Also) == 0
	if c.cmd.Op == wire.Acquire && (usual || bare) {
		vote.Holder = "" // only a script reads it
	}
	if r, expires, _ := d.Records.Get(c.cmd.Key, now); made && vote.Outcome == wire.Granted && vote.Token == c.cmd.Fence.Token {
		r.Run = unvouched
		d.Records.Put(c.cmd.Key, r, expires)
	}
	return vote
}

func (d database) usual(cmd wire.Request, now time.Time) bool {
	r, _, _ := d.Records.Get(cmd.Key, now)
	return !d.exact && plain(cmd) && (!cmd.Fence.On || r.Set == cmd.Fence.Set.String() && r.Run == cmd.Run || d.makes(cmd, now))
}

// plain reports whether a request is of the kind that a transaction can ask for.
func plain(cmd wire.Request) bool {
	return cmd.Op == wire.Acquire && cmd.Run != "" && cmd.Replace == "" && cmd.Fence.Reserve == 0 && len(cmd.Also) == 0
}

// makes reports whether a transaction may make the lock's counter.
func (d database) makes(cmd wire.Request, now time.Time) bool {
	_, _, counted := d.Counters.Get(cmd.Key, now)
	_, _, recorded := d.Records.Get(cmd.Key, now)
	return plain(cmd) && cmd.Fence.On && cmd.Fence.Token > 0 && !counted && !recorded
}

// spillElsewhere executes on a server in another run what a transaction does there. It reports
// whether it has set the key.
func (d database) spillElsewhere(cmd wire.Request, now time.Time) (set bool) {
	if !d.usual(cmd, now) {
		return false
	}
	d.spill(cmd, now)
	if _, _, exists := d.Keys.Get(cmd.Key, now); exists {
		return false
	}
	d.Keys.Put(cmd.Key, cmd.Value, now.Add(cmd.TTL))
	return true
}

// spill counts for nothing, or makes a counter.
func (d database) spill(cmd wire.Request, now time.Time) {
	if d.makes(cmd, now) {
		d.Counters.Put(cmd.Key, cmd.Fence.Token, now.Add(cmd.Fence.TTL))
		d.Records.Put(cmd.Key, quorumtest.Record{Set: cmd.Fence.Set.String(), Run: unvouched}, now.Add(cmd.Fence.TTL))
		return
	}
	if token, expires, known := d.Counters.Get(cmd.Key, now); known && cmd.Fence.On {
		d.Counters.Put(cmd.Key, token+1, expires)
	}
}
