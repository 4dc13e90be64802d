package book_test

import (
	"github.com/redquorum/redlock/quorum"
)

// rollouts lists every rollout: each right order, followed by the wrong ones.
func rollouts() []rollout {
	before := rolloutStep{Title: "before"}
	return []rollout{
		{
			Name: "ttl", Title: "another TTL, up to MaxTTL", Cuts: 2,
			Steps: []rolloutStep{{Title: "before", MaxTTL: longerTTL}, {Title: "a longer TTL", TTL: longerTTL, MaxTTL: longerTTL}},
		},
		{
			Name: "maxttl-up", Title: "a longer MaxTTL", Cuts: 2,
			Steps: []rolloutStep{
				before,
				{Title: "`Set.Version` + 1 with the longer `MaxTTL`; TTLs stay", MaxTTL: longerTTL, Version: 1},
				{Title: "longer TTLs", TTL: longerTTL, MaxTTL: longerTTL, Version: 1},
			},
		},
		{
			Name: "maxttl-up", Title: "a longer MaxTTL", Cuts: 2, Stagger: 2 * longerTTL,
			Wrong: "TTL and `MaxTTL` in one step: an old client counts the vote of a restarted server while a new client holds a longer lease",
			Shows: 63,
			Steps: []rolloutStep{before, {Title: "both at once", TTL: longerTTL, MaxTTL: longerTTL, Version: 1}},
		},
		{
			Name: "maxttl-down", Title: "a shorter MaxTTL", Cuts: 2,
			Steps: []rolloutStep{
				{Title: "before", TTL: longerTTL, MaxTTL: longerTTL},
				{Title: "shorter TTLs", MaxTTL: longerTTL},
				{Title: "the old `MaxTTL` later: `Set.Version` + 1 with the shorter `MaxTTL`", Version: 1, After: longerTTL},
			},
		},
		{
			Name: "maxttl-down", Title: "a shorter MaxTTL", Cuts: 2,
			Wrong: "TTL and `MaxTTL` in one step: a new client counts the vote of a restarted server while an old client holds a longer lease",
			Shows: 22,
			Steps: []rolloutStep{{Title: "before", TTL: longerTTL, MaxTTL: longerTTL}, {Title: "both at once", Version: 1}},
		},
		{
			Name: "quorum", Title: "a larger Quorum, and back", Cuts: 1,
			Steps: []rolloutStep{
				before,
				{Title: "`Set.Version` + 1 with `Quorum` 4", Quorum: 4, Version: 1},
				{Title: "`Set.Version` + 1 with `Quorum` 3", Version: 2},
			},
		},
		{
			Name: "replace", Title: "E of A to E replaced by F", Cuts: 1,
			Steps: []rolloutStep{
				before,
				{Title: "`Quorum` 4", Quorum: 4, Version: 1, After: rolloutTTL},
				{Title: "A B C D F, `Quorum` 4", Servers: "ABCDF", Quorum: 4, Version: 2, After: rolloutTTL},
				{Title: "`Quorum` 3", Servers: "ABCDF", Version: 3, After: rolloutTTL},
			},
		},
		{
			Name: "replace", Title: "E of A to E replaced by F", Cuts: 2,
			Wrong: "the list in one step: an old and a new majority need not share a server",
			Shows: 8,
			Steps: []rolloutStep{before, {Title: "A B C D F", Servers: "ABCDF", Version: 1}},
		},
		{
			Name: "replace-of-three", Title: "C of A to C replaced by D", Cuts: 1,
			Steps: []rolloutStep{
				{Title: "before", Servers: "ABC"},
				{Title: "`Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1, After: rolloutTTL},
				{Title: "A B D, `Quorum` 3", Servers: "ABD", Quorum: 3, Version: 2, After: rolloutTTL},
				{Title: "`Quorum` 2", Servers: "ABD", Version: 3, After: rolloutTTL},
			},
		},
		{
			Name: "replace-of-three", Title: "C of A to C replaced by D", Cuts: 2,
			Wrong: "the list in one step: an old and a new majority need not share a server",
			Shows: 8,
			Steps: []rolloutStep{{Title: "before", Servers: "ABC"}, {Title: "A B D", Servers: "ABD", Version: 1}},
		},
		{
			Name: "add", Title: "A B C become A to E", Cuts: 1,
			Steps: []rolloutStep{
				{Title: "before", Servers: "ABC"},
				{Title: "A B C, `Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1, After: rolloutTTL},
				{Title: "A B C D E, `Quorum` 3", Version: 2, After: rolloutTTL},
			},
		},
		{
			Name: "add", Title: "A B C become A to E", Cuts: 2,
			Wrong: "the list in one step: two of three and three of five need not share a server",
			Shows: 8,
			Steps: []rolloutStep{{Title: "before", Servers: "ABC"}, {Title: "A B C D E", Version: 1}},
		},
		{
			Name: "fencing-on", Title: "Fencing on", Cuts: 2,
			Steps: []rolloutStep{
				{Title: "before", Change: unfenced},
				{Title: "`Fencing: On` in all clients"},
				{Title: "`MaxTTL` later: the resource refuses writes without a token", Guarded: true, After: rolloutTTL},
			},
		},
		{
			Name: "fencing-on", Title: "Fencing on", Cuts: 2,
			Wrong: "the resource first: it refuses every old client",
			Steps: []rolloutStep{
				{Title: "before", Change: unfenced},
				{Title: "the resource refuses writes without a token", Change: unfenced, Guarded: true},
				{Title: "`Fencing: On` in all clients", Guarded: true},
			},
		},
		{
			Name: "fencing-off", Title: "Fencing off", Cuts: 2,
			Steps: []rolloutStep{
				{Title: "before", Guarded: true},
				{Title: "the resource takes writes without a token"},
				{Title: "`Fencing: Off` in all clients", Change: unfenced},
			},
		},
		{
			Name: "fencing-off", Title: "Fencing off", Cuts: 2,
			Wrong: "the clients first: the resource refuses them",
			Steps: []rolloutStep{
				{Title: "before", Guarded: true},
				{Title: "`Fencing: Off` in all clients", Change: unfenced, Guarded: true},
				{Title: "the resource takes writes without a token", Change: unfenced},
			},
		},
		{
			Name: "version", Title: "a version that only waits differently", Cuts: 2,
			Steps: []rolloutStep{{Title: "before", Change: polling}, {Title: "the new version"}},
		},
		{
			Name: "protection", Title: "a version, or a switch, that adds a protection", Cuts: 2, Since: 2,
			Steps: []rolloutStep{
				{Title: "before", Change: unprotected},
				{Title: "the new version"},
				{Title: "`MaxTTL` after the last old client has ended: rely on it", After: rolloutTTL},
			},
		},
		{
			Name: "protection", Title: "a version, or a switch, that adds a protection", Cuts: 2, Since: 1,
			Wrong: "relied on while old clients run: they still count the votes of a restarted server",
			Shows: 8,
			Steps: []rolloutStep{{Title: "before", Change: unprotected}, {Title: "the new version: rely on it"}},
		},
	}
}

func unfenced(cfg *quorum.Config) { cfg.Fencing = quorum.Off }

func polling(cfg *quorum.Config) { cfg.Notifications, cfg.Cohorts = quorum.Off, quorum.Off }

func unprotected(cfg *quorum.Config) {
	cfg.RestartQuarantine, cfg.ClockMonitor = quorum.Off, quorum.Off
}
