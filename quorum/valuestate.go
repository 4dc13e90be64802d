package quorum

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

// valueState is one value under one key, or several, on all instances: what is known of it on each
// instance, and the order of the requests about it.
//
// Order: requests to one instance about one value are sent one after the other, in the order
// in which they were queued. So a delete can't overtake the SET that it undoes, and an
// extension can't follow the release (scenario S9).
//
// A held lease keeps only this of its round, and the ballots. So it has what later requests and
// deletes need, and not what only the decision needed.
type valueState struct {
	keys
	value string
	c     *core

	mu       sync.Mutex
	slots    []slot   // per instance
	released bool     // its deletion has begun: nothing may be set any more
	round    *round   // the round that was won with the value, until all its votes are in
	votes    []Ballot // then, its ballots
}

// slot is the value on one instance.
type slot struct {
	later      []*request // those that begin after the one that has begun
	unfinished int32      // how many have not ended: the one that has begun, and the later ones
	token      bool       // the counter there is known to have reached the token
	leftover   bool       // it is among the member's leftovers
	deleted    bool       // its deletion is over, see deletionEnds
	presence   presence.State
	mayCome    time.Duration // the shortest TTL of the extensions that may still arrive, 0 if there is none
}

// stateBuffer is a valueState and its slots in one piece of memory.
type stateBuffer struct {
	valueState
	slotBuffer [bufferedInstances]slot
}

func newValueState(c *core, keys keys, value string) *valueState {
	v := &stateBuffer{valueState: valueState{keys: keys, value: value, c: c}}
	v.slots = buffer(v.slotBuffer[:], len(c.members))
	return &v.valueState
}

// inTurn begins a request to instance i when all earlier ones to that instance have ended.
// That is soon, because each is under the instance's timeout. The Coordinator's
// background counts it until it has ended. now is as in request.begin: to read the
// clocks once for all instances saves a good part of the cost of a poll.
func (v *valueState) inTurn(i int, r *request, now drift.Instant) {
	v.c.background.add()
	v.mu.Lock()
	s := &v.slots[i]
	s.unfinished++
	//guard:delete-after-set  a delete isn't sent before the SET that it undoes has ended
	if s.unfinished > 1 {
		s.later = append(s.later, r)
		v.mu.Unlock()
		return
	}
	v.mu.Unlock()
	r.begin(now)
}

// doneAt is called when the request that had begun at instance i has ended. The next one begins.
func (v *valueState) doneAt(i int) {
	v.mu.Lock()
	s := &v.slots[i]
	s.unfinished--
	var next *request
	if len(s.later) > 0 {
		next, s.later = s.later[0], s.later[1:]
	} else {
		s.later = nil
		v.dropRoundLocked()
	}
	v.mu.Unlock()
	if next != nil {
		next.begin(drift.Instant{})
	}
	v.c.background.finish()
}

// keepRound keeps the round with which the value was won, until all its votes are in: the last of
// them may come long after the decision.
func (v *valueState) keepRound(r *round) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.round = r
	v.dropRoundLocked()
}

// dropRoundLocked keeps only the ballots of a round that has ended at all instances.
func (v *valueState) dropRoundLocked() {
	if v.round != nil && !slices.ContainsFunc(v.slots, func(s slot) bool { return s.unfinished > 0 }) {
		// Without the poll's lock: every part has ended, so nothing writes the ballots any more.
		v.round, v.votes = nil, v.round.ballots
	}
}

// ballots are those of the round with which the value was won.
func (v *valueState) ballots() []Ballot {
	v.mu.Lock()
	r, votes := v.round, v.votes
	v.mu.Unlock()
	if r != nil {
		return r.snapshot()
	}
	return slices.Clone(votes)
}

// crowded reports whether so many requests to instance i are unfinished that only the release
// should be added: a holder may extend more often than a hung instance times out.
func (v *valueState) crowded(i int) bool {
	const most = 4
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slots[i].unfinished >= most
}

// noteAnswer takes in the answer to a request about the value, and returns what is known then.
func (v *valueState) noteAnswer(i int, op wire.Op, vote wire.Vote) presence.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.slots[i].presence
	if v.several() {
		v.slots[i].presence = before.AfterSeveral(op, vote)
	} else {
		v.slots[i].presence = before.After(op, vote)
	}
	return v.slots[i].presence
}

func (v *valueState) presence(i int) presence.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slots[i].presence
}

// noteLate notes that an extension to instance i may still arrive there, at any time.
func (v *valueState) noteLate(i int, ttl time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := &v.slots[i]; s.mayCome == 0 || ttl < s.mayCome {
		s.mayCome = ttl
	}
}

// shorter is the TTL of an extension that may still arrive at instance i, if it is less than ttl;
// otherwise 0.
func (v *valueState) shorter(i int, ttl time.Duration) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := &v.slots[i]; s.mayCome < ttl {
		return s.mayCome
	}
	return 0
}

// noteToken notes that instance i's counter is at least the lease's token.
func (v *valueState) noteToken(i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.slots[i].token = true
}

// needsRestore reports whether instance i lacks the value or the token, and may still be
// given them.
func (v *valueState) needsRestore(i int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	//guard:nothing-after-release  nothing is put back once a release was queued
	return !v.released && (!v.slots[i].presence.There || !v.slots[i].token)
}

// deleteRequest is the request to delete the value.
func (v *valueState) deleteRequest() wire.Request {
	//guard:delete-all-keys  a release deletes all keys of a lease
	return wire.Request{Op: wire.Release, Key: v.key, Also: v.also, Value: v.value}
}

// markReleased forbids to put the value back (needsRestore), because its deletion begins.
func (v *valueState) markReleased() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.released = true
}

// instances names the instances that are known to have the value.
func (v *valueState) instances() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for i := range v.slots {
		if v.slots[i].presence.There {
			names = append(names, v.c.members[i].name)
		}
	}
	return names
}

// A lock's value is 40 random hexadecimal digits, ":" and a signature if there is one. The
// signature is Config.Owner, and a space and Terms.Note if there is one. An owner has no space, so
// the first one ends it. A client that knows no notes shows "owner note" as the owner.

func signature(owner, note string) string {
	if note == "" {
		return owner
	}
	return owner + " " + note
}

func writeValue(random, owner, note string) string {
	if signed := signature(owner, note); signed != "" {
		return random + ":" + signed
	}
	return random
}

// readValue takes a value apart. Other programs' values may give anything.
func readValue(value string) (random, owner, note string) {
	random, signed, _ := strings.Cut(value, ":")
	owner, note, _ = strings.Cut(signed, " ")
	return random, owner, note
}

// shortValue is a value with a short hash in place of its random digits: enough to tell values apart,
// and not to release the lock. readValue reads it.
func shortValue(value string) string {
	random, signed, found := strings.Cut(value, ":")
	h := fnv.New32a()
	_, _ = h.Write([]byte(random))
	short := fmt.Sprintf("%08x", h.Sum32())
	if !found {
		return short
	}
	return short + ":" + signed
}

// random draws the values of locks, and pauses, from Config.Random, which need not be safe for
// concurrent use. A random is.
type random struct {
	reader io.Reader

	mu    sync.Mutex
	drawn [20]byte // what was drawn last
}

// Read draws from the reader.
func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader.Read(p)
}

// digits draws 40 hexadecimal digits that were never drawn before.
func (r *random) digits() (string, error) {
	r.mu.Lock()
	//guard:value-per-round  each round draws a value of its own, so that a late delete of one can't hit the key of the next
	_, err := io.ReadFull(r.reader, r.drawn[:])
	raw := r.drawn
	r.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("quorum: Config.Random gave no randomness, without which two rounds could share a value: %w", err)
	}
	var digits [2 * len(raw)]byte
	hex.Encode(digits[:], raw[:])
	return string(digits[:]), nil
}

// jitter draws a pause from zero to bound, evenly. If the reader fails it returns bound,
// because the round after the pause reports the failure.
func (r *random) jitter(bound time.Duration) time.Duration {
	var raw [8]byte
	r.mu.Lock()
	_, err := io.ReadFull(r.reader, raw[:])
	r.mu.Unlock()
	if err != nil {
		return bound
	}
	var n uint64
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return time.Duration(n % uint64(bound+1))
}
