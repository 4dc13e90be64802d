package quorum

import (
	"cmp"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// servers are the servers behind the instances, in the order in which the caller listed them.
type servers []*server

func newServers(e *env, instances []wire.Instance) servers {
	reached, all := &registry{}, make(servers, len(instances))
	for i, inst := range instances {
		s := newServer(e, i, inst)
		s.siblings, s.registry, s.deletes = all, reached, newDeletes(e, s.ask)
		all[i] = s
	}
	return all
}

// quarantines has each server's quarantine, nil if it may vote.
func (all servers) quarantines(now drift.Instant) []*QuarantineError {
	found := make([]*QuarantineError, len(all))
	for i, s := range all {
		found[i] = s.quarantined(now)
	}
	return found
}

// jumpedEverywhere reports, once, that all servers' clocks went the same way by about the same at
// once, as when this machine was paused. It says so in their quarantines, which stay: the readings
// can't tell a pause of this machine from a step of all servers, as by a time source that they share
// or a host that they run on. After such a step keys have ended early under leases of other clients,
// which may still count on them.
func (all servers) jumpedEverywhere(now drift.Instant) bool {
	if len(all) < 2 {
		return false
	}
	var least, most time.Duration
	for i, s := range all {
		s.mu.Lock()
		by, at := s.jump.By, s.jumped
		s.mu.Unlock()
		// Each clock is read at least every ClockEvery.
		if by == 0 || now.Mono-at > s.cfg.Lab.ClockEvery+2*s.cfg.InstanceTimeout {
			return false
		}
		if i == 0 {
			least, most = by, by
		}
		least, most = min(least, by), max(most, by)
	}
	// A jump is known to within the time that its reading took, and the drift since the last one.
	if least < 0 {
		least, most = -most, -least
	}
	if least <= 0 || most > 2*least {
		return false
	}
	first := false
	for i, s := range all {
		s.mu.Lock()
		// Two may be the last at once. The first server decides which of them tells.
		if news := s.quarantine.JumpedEverywhere(); i == 0 {
			first = news
		}
		s.mu.Unlock()
	}
	return first
}

// startToken is the token at which the counters of a new resource should start in a round that begins
// now: above the clock that each server will probably show when it is asked, so that all can
// start there. It returns 0 if fewer clocks than the quorum are known, or if the token would be
// further ahead of the slowest clock than a counter should be: if one that is ahead of its clock is lost
// where nobody waits, later tokens may be smaller.
//
// So neither a clock far ahead nor a slow server counts unless a quorum is like it.
func (all servers) startToken(now drift.Instant) fencing.Token {
	known, latencies := make([]int64, 0, 5), make([]int64, 0, 5)
	for _, s := range all {
		if s.silent.Load() {
			continue
		}
		if ahead := s.guess.ahead.Load(); ahead != 0 {
			known, latencies = append(known, ahead), append(latencies, s.guess.latency.Load())
		}
	}
	cfg := &all[0].cfg
	quorum, most := cfg.Quorum, min(cfg.ahead()/2, 4*cfg.InstanceTimeout)
	if len(known) < quorum {
		return 0
	}
	slices.Sort(known)
	slices.Sort(latencies)
	// A guess is behind by the way of the last reply, and the request has a way to go. The rest
	// is for requests that are slower than the average.
	lead := 4 * latencies[quorum-1]
	last := known[quorum-1]
	for _, ahead := range known[quorum:] {
		if ahead-known[quorum-1] <= lead {
			last = ahead
		}
	}
	if last-known[0]+lead > most.Microseconds() {
		return 0
	}
	// All servers can start their counters there, because it is above each one's clock.
	token := fencing.Token(max(0, now.Mono.Microseconds()+last+lead))
	if !token.Valid() {
		return 0
	}
	return token
}

// inOrder gives the servers in the order in which they decide a split.
func (all servers) inOrder() []int {
	prefix := prefixOf("") // one order for all keys
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(rankOf(prefix, all[a].name), rankOf(prefix, all[b].name))
	})
	return order
}

// rank is the rank of instance i for a key: by a hash of both names, so that different keys begin with
// different instances, and clients that give the instances the same names agree.
type rank struct {
	last bool // it comes after those that aren't
	hash uint64
	i    int
}

func (r rank) compare(other rank) int {
	if r.last != other.last {
		if r.last {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(r.hash, other.hash), cmp.Compare(r.i, other.i))
}

// queueInstance is the instance at which processes queue for the key: the first in rank, of
// those that answer and can notify if there are any.
func (all servers) queueInstance(key string) int {
	prefix := prefixOf(key)
	var best rank
	for i, s := range all {
		if r := (rank{s.silent.Load() || s.cannotNotify.Load(), rankOf(prefix, s.name), i}); i == 0 || r.compare(best) < 0 {
			best = r
		}
	}
	return best.i
}

func prefixOf(key string) uint64 { return hash(hash(14695981039346656037, key), "\x00") }

// rankOf mixes the bits of the hash. FNV alone ranks names alike that differ in the last byte only: one of
// three would come first for half of the keys. The steps are those with which MurmurHash3 ends its 64-bit
// hashes (fmix64).
func rankOf(prefix uint64, name string) uint64 {
	h := hash(prefix, name)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// hash is FNV-1a. Package hash/fnv allocates.
func hash(sum uint64, text string) uint64 {
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return sum
}
