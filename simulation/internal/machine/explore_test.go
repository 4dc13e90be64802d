package machine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
)

// The claim holds in every state of the small worlds.
func TestWorlds(t *testing.T) {
	for _, w := range Worlds() {
		t.Run(w.Name, func(t *testing.T) {
			found, err := w.Explore()
			require.NoError(t, err)
			t.Logf("%+v", found)
			assert.Greater(t, found.States, 20_000)
			assert.Greater(t, found.Won, 100, "all rounds were won")
		})
	}
}

// explored looks for a way to break the claim of a machine whose steps of one kind are changed. The
// world with Stray and Restore steps is large, so only changes of these kinds are tried there.
func explored(kind Kind, change func(*Machine)) error {
	for _, w := range Worlds() {
		if w.Wasted != (kind == Stray || kind == Restore) {
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
			require.ErrorIs(t, err, ErrExploration)
		})
	}
}

// With a wrong effect of a step the claim breaks, too.
func TestWrongEffects(t *testing.T) {
	long.Test(t, "it visits a million states")
	for name, test := range map[string]struct {
		kind  Kind
		wrong func(m *Machine, st *Step)
	}{
		"a grant doesn't count": {Grant, func(m *Machine, st *Step) {
			m.Servers[st.Server].Counter--
		}},
		"a raise doesn't raise": {Raise, func(m *Machine, st *Step) {
			m.Servers[st.Server].Counter = min(m.Servers[st.Server].Counter, st.Last-1)
		}},
		"a raise counts in any run": {Raise, func(m *Machine, st *Step) {
			for i := range m.Rounds[st.Round-1].Votes {
				if v := &m.Rounds[st.Round-1].Votes[i]; v.Server == st.Server {
					v.Has = max(v.Has, st.Last)
				}
			}
		}},
		"a restore lowers the counter": {Restore, func(m *Machine, st *Step) {
			m.Servers[st.Server].Counter = st.Last
		}},
		"a server goes on in its run after a restart": {Restart, func(m *Machine, st *Step) {
			m.Servers[st.Server].Run--
		}},
		"a key that has gone isn't missed": {Win, func(m *Machine, st *Step) {
			m.Rounds[st.Round-1].Valid = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			err := explored(test.kind, func(m *Machine) {
				m.wrong = func(m *Machine, st *Step) {
					if st.Kind == test.kind {
						test.wrong(m, st)
					}
				}
			})
			require.ErrorIs(t, err, ErrExploration)
		})
	}
}
