package machine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
)

// The claim holds in every state of the small worlds. The last three have four fifths of the states.
func TestWorlds(t *testing.T) {
	worlds := Worlds()
	if !long.Asked() {
		worlds = worlds[:len(worlds)-3]
	}
	for _, w := range worlds {
		t.Run(w.Name, func(t *testing.T) {
			found, err := w.Explore()
			require.NoError(t, err)
			t.Logf("%+v", found)
			assert.Greater(t, found.States, 20_000)
			assert.Greater(t, found.Won, 50, "all rounds were won")
		})
	}
}

// explored looks for a way to break the claim of a machine whose steps of a kind are changed, in the worlds that have
// such steps.
func explored(kind Kind, change func(*Machine)) error {
	for _, w := range Worlds() {
		if kind == Restore && !w.Restored {
			continue
		}
		m := w.start()
		change(m)
		if _, err := w.explore(m); err != nil {
			return fmt.Errorf("in the world of %s: %w", w.Name, err)
		}
	}
	return nil
}

// Without any one of its rules the claim breaks in some world.
func TestEachRuleIsNeeded(t *testing.T) {
	long.Test(t, "it visits a million states")
	for _, r := range append(rules(), waiting()...) {
		t.Run(fmt.Sprintf("%s: %s", r.kind, r.says), func(t *testing.T) {
			err := explored(r.kind, func(m *Machine) {
				m.rules = slices.DeleteFunc(m.rules, func(o rule) bool { return o.kind == r.kind && o.says == r.says })
			})
			require.ErrorIs(t, err, ErrBroken)
			t.Log(err)
		})
	}
}

// A weaker rule isn't enough.
func TestWeakerRules(t *testing.T) {
	for name, weaker := range map[string]rule{
		// An older counter may be ahead of the clock that its server had.
		"a floor of the epoch alone": {Grant, low, func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Counter > s.Marks[st.Named-1].Epoch.Clock || st.Token > st.Clock
		}},
		"a floor of the epoch and half of MaxTTL": {Grant, low, func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Counter > s.Marks[st.Named-1].Epoch.Clock+m.Ahead || st.Token > st.Clock
		}},
		// In a run that is old, tokens are far above the floor.
		"a lost counter starts from the floor": {Grant, low, func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Token > s.Marks[st.Named-1].Epoch.Clock+2*m.Ahead
		}},
	} {
		t.Run(name, func(t *testing.T) {
			err := explored(weaker.kind, func(m *Machine) {
				if !m.waits {
					return
				}
				starts := name == "a lost counter starts from the floor"
				m.rules = slices.DeleteFunc(m.rules, func(r rule) bool { return r.says == low || starts && r.says == made })
				m.rules = append(m.rules, weaker)
			})
			require.ErrorIs(t, err, ErrBroken)
			require.ErrorContains(t, err, "has the token")
		})
	}
}
