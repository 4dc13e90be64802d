package quorum

import (
	"cmp"
	"slices"
)

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

// decisionOrder gives the instances in the order in which they decide a split (see contend.go).
func (c *core) decisionOrder() []int {
	prefix := prefixOf("") // one order for all keys
	order := make([]int, len(c.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(rankOf(prefix, c.members[a].name), rankOf(prefix, c.members[b].name))
	})
	return order
}

// queueInstance is the instance at which processes queue for the key: the first in rank, of
// those that answer and can notify if there are any.
func (c *core) queueInstance(key string) int {
	prefix := prefixOf(key)
	var best rank
	for i, m := range c.members {
		if r := (rank{m.silent.Load() || m.cannotNotify.Load(), rankOf(prefix, m.name), i}); i == 0 || r.compare(best) < 0 {
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
