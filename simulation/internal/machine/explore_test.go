package machine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every state of the small worlds is looked at, and the claim holds in each.
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

// explored looks for a way to break the claim in some world of a changed machine, and returns the
// worlds in which there is one.
func explored(change func(*Machine)) (worlds []string, err error) {
	for _, w := range Worlds() {
		m := w.start()
		change(m)
		if _, found := w.explore(m); found != nil {
			worlds, err = append(worlds, w.Name), found
		}
	}
	return worlds, err
}

// Without any one of its rules the claim breaks in some world.
func TestEachRuleIsNeeded(t *testing.T) {
	for i, r := range append(rules(), waiting()...) {
		t.Run(fmt.Sprintf("%s: %s", r.kind, r.says), func(t *testing.T) {
			worlds, err := explored(func(m *Machine) {
				m.rules = slices.DeleteFunc(m.rules, func(o rule) bool { return o.kind == r.kind && o.says == r.says })
			})
			t.Logf("%d %v %v", i, worlds, err)
			assert.ErrorIs(t, err, ErrExploration)
		})
	}
}

// So does it with a wrong effect.
func TestWrongEffects(t *testing.T) {
	for name, wrong := range map[string]func(m *Machine, st *Step){
		"a grant doesn't count": func(m *Machine, st *Step) {
			if st.Kind == Grant {
				m.Servers[st.Server].Counter--
			}
		},
		"a raise doesn't raise": func(m *Machine, st *Step) {
			if st.Kind == Raise {
				m.Servers[st.Server].Counter = min(m.Servers[st.Server].Counter, st.Last-1)
			}
		},
		"a raise counts in any run": func(m *Machine, st *Step) {
			if st.Kind == Raise {
				for i := range m.Rounds[st.Round-1].Votes {
					if v := &m.Rounds[st.Round-1].Votes[i]; v.Server == st.Server {
						v.Has = max(v.Has, st.Last)
					}
				}
			}
		},
		"a restore lowers the counter": func(m *Machine, st *Step) {
			if st.Kind == Restore {
				m.Servers[st.Server].Counter = st.Last
			}
		},
		"a server goes on in its run after a restart": func(m *Machine, st *Step) {
			if st.Kind == Restart {
				m.Servers[st.Server].Run--
			}
		},
		"a key that has gone isn't missed": func(m *Machine, st *Step) {
			if st.Kind == Win {
				m.Rounds[st.Round-1].Valid = true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds, err := explored(func(m *Machine) { m.wrong = wrong })
			t.Logf("%v %v", worlds, err)
			assert.ErrorIs(t, err, ErrExploration)
		})
	}
}
