package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// checked returns the promises that package check finds broken, of those that have a model here.
func checked(log record.Log, requests bool) (all []broken) {
	events := slices.Collect(log.All())
	for _, f := range check.Violations(log, check.Rules{Requests: requests}) {
		if slices.ContainsFunc(promises, func(p promise) bool { return p.kind == f.Kind }) {
			all = append(all, broken{events[f.Event].Key, f.Kind})
		}
	}
	return sorted(all)
}

// byHand are histories by hand, and what each breaks.
var byHand = []struct {
	name, steps string
	broken      []record.ViolationKind
}{
	{"one after the other", "a asks, a gets 1, a looks, a reads, a writes, a releases, b asks, b gets 2, b looks, b reads, b writes", nil},
	{"looks after the next grant", "a asks, a gets, b asks, b gets, a looks", []record.ViolationKind{record.TwoHolders}},
	{"the grants overlap, and the later one acts", "a asks, b asks, a gets, b gets, b looks", nil},
	{"the grants overlap, and the earlier one acts", "a asks, b asks, a gets, b gets, a looks", nil},
	{"the grants overlap, and both act afterwards", "a asks, b asks, a gets, b gets, a looks, b looks", []record.ViolationKind{record.TwoHolders}},
	{"the grants overlap, and one acts before the other", "a asks, b asks, a gets, a looks, b gets, b looks", nil},
	{"believes after the next grant", "a asks, a gets 1, a believes 9, time passes 5, b asks, b gets 2, b believes 12", []record.ViolationKind{record.TwoHolders}},
	{"believes before the next grant", "a asks, a gets 1, a believes 5, time passes 5, b asks, b gets 2, b believes 12", nil},
	{"believes again", "a asks, a gets 1, a believes 5, time passes 5, b asks, b gets 2, b believes 12, a believes 20", []record.ViolationKind{record.TwoHolders}},
	{"believes, and has released", "a asks, a gets 1, a believes 9, a releases, b asks, b gets 2, b believes 12", nil},
	{"a smaller token", "a asks, a gets 2, b asks, b gets 1", []record.ViolationKind{record.TokenOrder}},
	{"a smaller token, and the grants overlap", "a asks, b asks, a gets 2, b gets 1", nil},
	{"the same token, and the grants overlap", "a asks, b asks, a gets 2, b gets 2", []record.ViolationKind{record.TokenOrder}},
	{"sent in time, and executed before the next", "a asks, a gets 1, a reads, a sends, b asks, b gets 2, a writes, b reads, b writes", nil},
	{"sent in time, and executed after the next read", "a asks, a gets 1, a reads, a sends, b asks, b gets 2, b reads, a writes", []record.ViolationKind{record.StaleWrite}},
	{"sent in time, and executed between the next read and write", "a asks, a gets 1, a reads, a sends, b asks, b gets 2, b reads, a writes, b writes", []record.ViolationKind{record.StaleWrite, record.LostUpdate}},
	{"sent after the next grant", "a asks, a gets 1, a reads, b asks, b gets 2, a sends, a writes", []record.ViolationKind{record.TwoHolders}},
	{"a late read", "a asks, a gets 1, a sends, b asks, b gets 2, b reads, b writes, a reads", nil},
	{"written twice as of one read", "a asks, a gets 1, a reads, a writes, a writes", []record.ViolationKind{record.LostUpdate}},
	{"a late write without tokens", "a asks, a gets, a reads, a sends, b asks, b gets, b reads, a writes", []record.ViolationKind{record.StaleWrite}},
}

func TestByHand(t *testing.T) {
	for _, tc := range byHand {
		var want []broken
		for _, kind := range tc.broken {
			want = append(want, broken{scriptKey, kind})
		}
		log := played(t, tc.steps)
		assert.Equal(t, sorted(want), judged(log, true), "porcupine: %s", tc.name)
		assert.Equal(t, sorted(want), checked(log, true), "package check: %s", tc.name)
	}
}

// Four clients with a lease each do anything that clients can do, in any order.
func TestRandomHistories(t *testing.T) {
	found := tally{}
	for seed := range long.Number[uint64](20_000, 1_000) {
		steps := randomSteps(rand.New(rand.NewPCG(seed, 0)))
		log := played(t, steps)
		for _, requests := range []bool{false, true} {
			found.compare(t, log, requests, "%d, requests are acts: %v: %s", seed, requests, steps)
		}
	}
	found.require(t, 50)
}

// randomSteps are steps of a script. Either all leases have tokens, or none has, and either all have clocks, or none has.
func randomSteps(r *rand.Rand) string {
	clients, tokens, clocks := []string{"a", "b", "c", "d"}, r.IntN(2) > 0, r.IntN(2) > 0
	has := map[string]int{} // 0: nothing, 1: it has asked, 2: it has a lease
	now, last := 0, 0
	var steps []string
	add := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	for range 6 + r.IntN(14) {
		c := clients[r.IntN(len(clients))]
		switch has[c] {
		case 0:
			add("%s asks", c)
			has[c] = 1
		case 1:
			token := 0
			if tokens {
				last += r.IntN(4)
				token = max(1, last-r.IntN(2))
			}
			add("%s gets %d", c, token)
			if clocks {
				add("%s believes %d", c, max(1, now+r.IntN(8)-1))
			}
			has[c] = 2
		default:
			verbs := []string{"reads", "writes", "sends", "releases", "looks", "passes"}
			switch verb := verbs[r.IntN(len(verbs))]; {
			case verb == "passes":
				n := r.IntN(4)
				now += n
				add("time passes %d", n)
			case verb == "looks" && clocks:
				add("%s believes %d", c, now+1+r.IntN(6))
			default:
				add("%s %s", c, verb)
			}
		}
	}
	return strings.Join(steps, ", ")
}
