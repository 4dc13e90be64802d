package presence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

// history is a server that may carry out unanswered SETs at any time.
type history struct {
	known  presence.State
	there  bool
	flight int  // unanswered SETs that the server hasn't carried out
	begun  bool // each round sends one SET to an instance; later ones are restorations
}

// A value that counts as absent is absent, and nothing can set it, for every short sequence of
// requests, answers, lost answers and late SETs.
func TestAbsentIsCertain(t *testing.T) {
	granted := func(ok bool) wire.Vote {
		if ok {
			return wire.Vote{Outcome: wire.Granted}
		}
		return wire.Vote{Outcome: wire.Refused}
	}
	steps := map[string]func(h *history){
		"set": func(h *history) {
			h.there = true
			h.known = h.known.After(wire.Acquire, granted(true))
		},
		"set that is refused": func(h *history) { h.known = h.known.After(wire.Acquire, granted(false)) },
		"restore without answer": func(h *history) {
			h.flight++
			h.known = h.known.After(wire.Restore, wire.Vote{})
		},
		"restore": func(h *history) {
			h.there = true
			h.known = h.known.After(wire.Restore, granted(true))
		},
		"set without answer": func(h *history) {
			h.flight++
			h.known = h.known.After(wire.Acquire, wire.Vote{})
		},
		"set that was never sent": func(h *history) {
			h.known = h.known.After(wire.Acquire, wire.Vote{Unsent: true})
		},
		"late set": func(h *history) {
			if h.flight > 0 {
				h.flight--
				h.there = true // or was: a SET NX finds it there
			}
		},
		"extend": func(h *history) { h.known = h.known.After(wire.Extend, granted(h.there)) },
		"delete": func(h *history) {
			h.known = h.known.After(wire.Release, granted(h.there))
			h.there = false
		},
		"delete without answer": func(h *history) {
			h.there = false
			h.known = h.known.After(wire.Release, wire.Vote{})
		},
		"expiry": func(h *history) { h.there = false },
	}
	var walk func(h history, path []string)
	walk = func(h history, path []string) {
		if h.known.Absent() {
			require.Zero(t, h.flight, path)
			require.False(t, h.there, path)
		}
		require.GreaterOrEqual(t, int(h.known.Unanswered), h.flight, path)
		if len(path) == 6 {
			return
		}
		for name, step := range steps {
			if strings.HasPrefix(name, "set") == h.begun {
				continue
			}
			next := h
			next.begun = true
			step(&next)
			walk(next, append(path[:len(path):len(path)], name))
		}
	}
	walk(history{}, nil)
}

func TestADeleteThatFoundItAccountsForOneSet(t *testing.T) {
	s := presence.State{}.After(wire.Acquire, wire.Vote{}).After(wire.Restore, wire.Vote{})
	require.Equal(t, presence.State{Unanswered: 2}, s)
	s = s.After(wire.Release, wire.Vote{Outcome: wire.Granted})
	require.Equal(t, presence.State{Unanswered: 1}, s)
	s = s.After(wire.Release, wire.Vote{Outcome: wire.Refused})
	require.False(t, s.Absent(), "the other one may still arrive")
	require.True(t, s.After(wire.Release, wire.Vote{Outcome: wire.Granted}).Absent())
}
