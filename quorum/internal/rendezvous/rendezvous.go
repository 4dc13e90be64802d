// Package rendezvous orders instances for a key, in the same way in all clients.
package rendezvous

import (
	"cmp"
	"slices"
)

// Order gives the indexes of n instances in a key's order: by a hash of both names, so that
// different keys begin with different instances, and clients that give the instances the same
// names agree. An instance is silent if its last request had no answer or failed. Silent ones come last.
func Order(key string, n int, instance func(i int) (name string, silent bool)) []int {
	prefix := prefixOf(key)
	rank, silent, order := make([]uint64, n), make([]bool, n), make([]int, n)
	for i := range n {
		var name string
		name, silent[i] = instance(i)
		rank[i], order[i] = rankOf(prefix, name), i
	}
	slices.SortFunc(order, func(a, b int) int {
		if silent[a] != silent[b] {
			if silent[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
	})
	return order
}

// First is the first of Order, without memory of its own.
func First(key string, n int, instance func(i int) (name string, silent bool)) int {
	prefix := prefixOf(key)
	best, bestSilent, bestRank := -1, true, uint64(0)
	for i := range n {
		name, silent := instance(i)
		rank := rankOf(prefix, name)
		if best < 0 || bestSilent && !silent || bestSilent == silent && rank < bestRank {
			best, bestSilent, bestRank = i, silent, rank
		}
	}
	return best
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
