//go:build unix

package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/record"
)

// story returns a history of entries in their order. Each begins after the previous one,
// unless it has a Began.
func story(entries ...entry) []entry {
	for i := range entries {
		entries[i].Seq = i + 1
		if entries[i].Began == 0 {
			entries[i].Began = i
		}
		if entries[i].Lease == 0 {
			entries[i].Lease = 1
		}
		entries[i].Key = key
	}
	return entries
}

func did(who, what string, token fencing.Token) entry {
	return entry{Who: who, What: what, Token: token}
}

func read(who string, token fencing.Token, version uint64) entry {
	return entry{Who: who, What: wasRead, Token: token, Version: version, Found: version, Value: int64(version)}
}

func wrote(who string, token fencing.Token, version, found uint64) entry {
	return entry{Who: who, What: wasWritten, Token: token, Version: version, Found: found, Value: int64(version) + 1}
}

func since(entry entry, began int) entry {
	entry.Began = began
	return entry
}

func TestFindings(t *testing.T) {
	const (
		two, stale, lost, order = record.TwoHolders, record.StaleWrite, record.LostUpdate, record.TokenOrder
	)
	for name, test := range map[string]struct {
		history []entry
		want    []record.ViolationKind
	}{
		"one after the other": {story(
			did("c1", wasAcquired, 1), read("c1", 1, 0), wrote("c1", 1, 0, 0), did("c1", wasReleased, 1),
			did("c2", wasAcquired, 2), read("c2", 2, 1), did("c2", wasValid, 2), wrote("c2", 2, 1, 1), did("c2", wasReleased, 2)), nil},
		"a belief from before": {story(
			did("c1", wasAcquired, 1), did("c2", wasAcquired, 2), since(did("c1", wasValid, 1), 1)), nil},
		"a belief from after": {story(
			did("c1", wasAcquired, 1), did("c2", wasAcquired, 2), did("c1", wasValid, 1)), []record.ViolationKind{two}},
		"a client with an expired lease is no holder": {story(
			did("c1", wasAcquired, 1), did("c2", wasAcquired, 2), did("c1", wasOver, 1)), nil},
		"S1": {story(
			did("c1", wasAcquired, 1), read("c1", 1, 0), did("c1", wasValid, 1), did("c2", wasAcquired, 2), read("c2", 2, 0), wrote("c2", 2, 0, 0), wrote("c1", 1, 0, 1)),
			[]record.ViolationKind{lost, stale, two}},
		"S1 with a guard": {story(
			did("c1", wasAcquired, 1), read("c1", 1, 0), did("c1", wasValid, 1), did("c2", wasAcquired, 2), read("c2", 2, 0), wrote("c2", 2, 0, 0), did("c1", wasStale, 1)), nil},
		"S2, a write that was sent in time": {story(
			did("c1", wasAcquired, 1), read("c1", 1, 0), did("c1", wasReleased, 1), did("c2", wasAcquired, 2), read("c2", 2, 0), wrote("c2", 2, 0, 0), since(wrote("c1", 1, 0, 1), 2)),
			[]record.ViolationKind{lost, stale}},
		"without tokens the order is that of acquisition": {story(
			did("c1", wasAcquired, 0), did("c2", wasAcquired, 0), read("c2", 0, 0), wrote("c2", 0, 0, 0), read("c1", 0, 1), wrote("c1", 0, 1, 1)),
			[]record.ViolationKind{stale, two}},
		"a token twice": {story(
			did("c1", wasAcquired, 5), did("c1", wasReleased, 5), did("c2", wasAcquired, 5)), []record.ViolationKind{order}},
		"a smaller token": {story(
			did("c1", wasAcquired, 5), did("c1", wasReleased, 5), did("c2", wasAcquired, 4)), []record.ViolationKind{order}},
		"a smaller token of an earlier client": {story(
			did("c1", wasReleased, 5), did("c1", wasAcquired, 5), did("c1", wasReleased, 5), since(did("c2", wasAcquired, 4), 1)), nil},
		"kept waiting": {story(did("c2", wasStarved, 0)), []record.ViolationKind{record.NoProgress}},
		"forever":      {story(did("c2", wasBlocked, 0)), []record.ViolationKind{record.NeverFree}},
		"the dead hold nothing": {story(
			did("c1", wasAcquired, 1), did("c1", wasKilled, 0), did("c2", wasAcquired, 2), did("c2", wasValid, 2)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			findings := findingsIn(test.history, check.Rules{})
			got := kindsOf(findings)
			if len(test.want) == 0 {
				require.Empty(t, findings)
			} else {
				require.Equal(t, test.want, got, "%v", findings)
			}
		})
	}
}
