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

// two is a server with two keys of one value.
type two struct {
	known    presence.State
	a, b     bool
	acquires int // in flight, not carried out
	restores int
	begun    bool
}

// For a value that two keys have, too, what counts as absent is absent, and nothing can set it:
// also where one of the keys is lost, and the other one isn't.
func TestAbsentIsCertainForSeveralKeys(t *testing.T) {
	answer := func(ok bool) wire.Vote {
		if ok {
			return wire.Vote{Outcome: wire.Granted}
		}
		return wire.Vote{Outcome: wire.Refused}
	}
	note := func(h *two, op wire.Op, vote wire.Vote) { h.known = h.known.AfterSeveral(op, vote) }
	steps := map[string]func(h *two){
		"set": func(h *two) {
			h.a, h.b = true, true
			note(h, wire.Acquire, answer(true))
		},
		"set that is refused": func(h *two) { note(h, wire.Acquire, answer(false)) },
		"set without answer": func(h *two) {
			h.acquires++
			note(h, wire.Acquire, wire.Vote{})
		},
		"late set": func(h *two) {
			if h.acquires > 0 {
				h.acquires--
				h.a, h.b = !h.a && !h.b || h.a, !h.a && !h.b || h.b
			}
		},
		"restore": func(h *two) {
			h.a, h.b = true, true
			note(h, wire.Restore, answer(true))
		},
		"restore over another's key": func(h *two) {
			h.b = false
			note(h, wire.Restore, answer(false))
		},
		"restore without answer": func(h *two) {
			h.restores++
			note(h, wire.Restore, wire.Vote{})
		},
		"late restore": func(h *two) {
			if h.restores > 0 {
				h.restores--
				h.a, h.b = true, true
			}
		},
		"extend": func(h *two) { note(h, wire.Extend, answer(h.a && h.b)) },
		"raise":  func(h *two) { note(h, wire.Raise, answer(h.a && h.b)) },
		"delete": func(h *two) {
			note(h, wire.Release, answer(h.a && h.b))
			h.a, h.b = false, false
		},
		"delete without answer": func(h *two) {
			h.a, h.b = false, false
			note(h, wire.Release, wire.Vote{})
		},
		"loss": func(h *two) { h.b = false },
	}
	var walk func(h two, path []string)
	walk = func(h two, path []string) {
		if h.known.Absent() {
			require.Zero(t, h.acquires+h.restores, path)
			require.False(t, h.a || h.b, path)
		}
		require.GreaterOrEqual(t, int(h.known.Unanswered), h.acquires+h.restores, path)
		if len(path) == 5 {
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
	walk(two{}, nil)
}
