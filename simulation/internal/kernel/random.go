package kernel

import (
	"io"
	"sync"
)

// Tag keeps draws for different purposes apart.
type Tag uint64

const (
	TagRequest Tag = iota + 1
	TagReply
	TagLoss
	TagTie
	tagTimer
	tagValue
	TagRunID
	TagSchedule
	TagPick
	TagReplica
	TagReorder
	TagRepeat
	TagEvict
	_ // it is gone: a number stands for the same draws forever
	TagTurn
)

// Draw is the only source of randomness: a hash of the seed, the purpose and the subject.
// There is no sequential stream, so that adding or removing a fault leaves all other
// draws unchanged. Shrinking a schedule fault by fault depends on that.
func Draw(seed uint64, t Tag, about ...uint64) uint64 {
	h := mix(seed, uint64(t))
	for _, a := range about {
		h = mix(h, a)
	}
	return h
}

// mix is the finalizer of splitmix64 over h and v.
func mix(h, v uint64) uint64 {
	h = h*0x9e3779b97f4a7c15 + v + 0x632be59bd9b4e019
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Between draws from least to most, both included.
func Between(h uint64, least, most int64) int64 {
	if most <= least {
		return least
	}
	return least + int64(h%uint64(most-least+1))
}

// randomBytes is one process's Lab.Random: the n-th byte depends on the seed, the
// process and n alone.
type randomBytes struct {
	seed, process uint64

	// For the goroutines of a crashed process, which run concurrently.
	mu sync.Mutex
	n  uint64
}

// NewRandom returns the random bytes of a process.
func NewRandom(seed, process uint64) io.Reader { return &randomBytes{seed: seed, process: process} }

// Read fills p and never fails.
func (v *randomBytes) Read(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range p {
		p[i] = byte(Draw(v.seed, tagValue, v.process, v.n/8) >> (8 * (v.n % 8)))
		v.n++
	}
	return len(p), nil
}
