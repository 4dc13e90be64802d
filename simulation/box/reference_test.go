//go:build unix

package box

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
)

var recordAgain = flag.Bool("reference", false, "play the lock of the Redis document on real servers and write reference.json; this takes minutes")

// The lock of the Redis document breaks nothing but what the document admits, under any fault.
func TestReference(t *testing.T) {
	if *recordAgain {
		recordReference(t)
	}
	for _, n := range []int{1, 5} {
		r := referenceFor(n)
		assert.Equal(t, n, r.Count)
		assert.NotEmpty(t, r.Name)
		assert.NotEmpty(t, r.Commit)
		assert.NotEmpty(t, r.Day)
		played := slices.DeleteFunc(Faults(), func(fault string) bool { return serversFor(fault, n) == 0 })
		assert.ElementsMatch(t, played, slices.Collect(maps.Keys(r.Faults)))
		assert.Contains(t, r.Faults["pause"], StaleWrite)
		for _, fault := range []string{"restart", "old data", "flush", "clock", "failover", "address"} {
			assert.Contains(t, r.Faults[fault], TwoHolders, fault)
		}
		for fault, kinds := range r.Faults {
			assert.Subset(t, []Kind{TwoHolders, StaleWrite, LostUpdate}, kinds, fault)
		}
	}
	assert.Equal(t, 5, referenceFor(3).Count)
}

// recordReference plays the fixed schedules on both numbers of servers. Leases are long, so that a busy machine
// doesn't hide what an algorithm shows.
func recordReference(t *testing.T) {
	commit, err := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
	require.NoError(t, err)
	var all []Reference
	for _, n := range []int{1, 5} {
		o := Options{Command: []string{instancetest.Python(t), "../drivers/python/document.py"}, Servers: n, TTL: 4 * time.Second}
		played, err := Run(t.Context(), o)
		require.NoError(t, err)
		require.Empty(t, played.Unknown())
		t.Log(played.Text(false))
		r := Reference{
			Name: played.Name, Version: played.Version, Servers: played.Servers, Count: n,
			Commit: strings.TrimSpace(string(commit)), Day: time.Now().Format(time.DateOnly), Faults: map[string][]Kind{},
		}
		for _, tally := range played.Tallies {
			r.Faults[tally.Fault] = []Kind{}
		}
		for _, k := range played.Broken {
			if k.Repeated > 0 {
				r.Faults[k.Fault] = append(r.Faults[k.Fault], k.Kind)
			}
		}
		all = append(all, r)
	}
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	referenceList = append(text, '\n')
	require.NoError(t, os.WriteFile("reference.json", referenceList, 0o644))
}
