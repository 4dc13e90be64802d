package quorum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/quorum/wire"
)

// keys are the resources of a round or a lease: one, or several in ascending order. Its requests share them, see
// wire.Request.Keys.
//
// # Leases on several keys
//
// On each instance one atomic step sets those keys that are free. A client whose round is lost deletes
// what it has set before it waits. So no client holds some of the keys while it waits for others, and
// clients that name the same keys in different orders can't wait for each other. A lease has one value and
// one token for all of its keys. An instance counts for a round, and later for an extension, only if it
// has all keys. Package settlement has the argument why the token is larger than that of every earlier lease
// on any of the keys, and smaller than that of every later one.
//
// A waiter waits for one key at a time, the first in the way, in the queues of that key. When
// that key is free it asks for all of them again. It holds nothing meanwhile, and so it can
// starve: if other clients take the keys one by one, and rarely all are free at once, it comes
// to its turn at one key and finds another one taken. It needs about (1/(1-u))^(n-1) tries, if
// each of its n keys is in use for the share u of the time. Nothing bounds the wait but
// Terms.MaxWait, Terms.MaxTries and the context. To let it go to the front of the next queue makes
// no difference, because what it lacks isn't its turn, but all keys at once.
//
// A lease on several keys isn't handed to another process (Lease.HandOff). Its release always notifies
// other processes, because each waiter of this one has other keys.
type keys []string

// keysOf sorts and checks the keys that a caller named.
func keysOf(names []string) (keys, error) {
	switch n := len(names); {
	case n == 0:
		return nil, fmt.Errorf("%w: no keys; name the resources that the lease is for", ErrConfig)
	case n > wire.MaxKeys:
		return nil, fmt.Errorf("%w: %d keys, at most %d are allowed: a server serves nobody else while it looks at them all; "+
			"lock something that stands for several of them", ErrConfig, n, wire.MaxKeys)
	}
	sorted := slices.Sorted(slices.Values(names))
	for i, key := range sorted {
		if err := ValidateKey(key); err != nil {
			return nil, err
		}
		if i > 0 && key == sorted[i-1] {
			return nil, fmt.Errorf("%w: the key %q is given twice; give each key once", ErrConfig, key)
		}
	}
	return sorted, nil
}

// others are all keys but the first, for an event: nil if there is one key.
func (k keys) others() []string {
	if len(k) == 1 {
		return nil
	}
	return slices.Clone(k[1:])
}

// String is the keys in quotes, the first of them if they are more than a lease can have.
func (k keys) String() string {
	named := make([]string, min(len(k), wire.MaxKeys))
	for i := range named {
		named[i] = strconv.Quote(k[i])
	}
	text := strings.Join(named, ", ")
	if others := len(k) - len(named); others > 0 {
		text += fmt.Sprintf(" and %d others", others)
	}
	return text
}

// at is the key with a number of Vote.InTheWay, empty for 0 and for a number that no key has.
func (k keys) at(n uint8) string {
	if n == 0 || len(k) == 1 || int(n) > len(k) {
		return ""
	}
	return k[n-1]
}
