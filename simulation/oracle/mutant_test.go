package oracle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/record"
)

// mutants are models with one mistake.
var mutants = []struct {
	name string
	kind record.ViolationKind
	step func(s state, o operation) (state, bool)
}{
	{"a grant doesn't wait for the acts before it", record.TwoHolders, func(s state, o operation) (state, bool) {
		return state{lease: o.lease}, true
	}},
	{"the later of two overlapping grants is always the one with the later answer", record.TwoHolders, func(s state, o operation) (state, bool) {
		if o.what == granted {
			return state{lease: o.lease, left: o.acts, latest: o}, s.left == 0 && o.place > s.latest.place
		}
		return state{lease: s.lease, left: s.left - 1, latest: s.latest}, o.lease == s.lease
	}},
	{"a token may come twice", record.TokenOrder, func(s state, o operation) (state, bool) {
		return state{token: max(s.token, o.token)}, o.token >= s.token
	}},
	{"tokens may fall", record.TokenOrder, func(s state, o operation) (state, bool) {
		return state{token: o.token}, o.token == 0 || o.token != s.token
	}},
	{"reads aren't uses", record.StaleWrite, func(s state, o operation) (state, bool) {
		if o.what == read {
			return s, true
		}
		return state{version: o.version, latest: o}, o.version == s.version+1 && !s.latest.after(o)
	}},
	{"a write may replace what its writer hasn't read", record.LostUpdate, func(s state, o operation) (state, bool) {
		return state{version: o.version}, o.version == s.version+1
	}},
}

// TestByHand fails for each of them.
func TestMistakesInModelsAreNoticed(t *testing.T) {
	for _, m := range mutants {
		models := promises()
		at := slices.IndexFunc(models, func(p promise) bool { return p.kind == m.kind })
		models[at].step = m.step
		assert.True(t, slices.ContainsFunc(byHand, func(h byHandHistory) bool {
			log := played(t, h.steps)
			return !slices.Equal(checked(log, true), sorted(judge(log, true, models)))
		}), m.name)
	}
}
