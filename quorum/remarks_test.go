package quorum

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func TestRemarksOnAServer(t *testing.T) {
	fine := wire.Identity{RunID: "r", ReplID: "p", Mark: wire.MarkOf("p", "1", ""), Persistence: "aof always", Served: time.Hour}
	require.Empty(t, remarksOn(fine, true))
	for says, change := range map[string]func(*wire.Identity){
		"may lose votes":       func(id *wire.Identity) { id.Persistence = "rdb" },
		"no lock is given out": func(id *wire.Identity) { id.Persistence = "rdb" },
		"no other process":     func(id *wire.Identity) { id.InProcess, id.Persistence = true, "none" },
		"no mark can be kept":  func(id *wire.Identity) { id.Served = -1 },
		"waits for MaxTTL":     func(id *wire.Identity) { id.Served, id.Promoted = -1, true },
		"hidden: its uptime":   func(id *wire.Identity) { id.Hidden = []string{"its uptime"} },
	} {
		id := fine
		change(&id)
		require.Contains(t, strings.Join(remarksOn(id, true), "\n"), says)
	}
	unmarked := fine
	unmarked.Served = -1
	require.Empty(t, remarksOn(unmarked, false), "the mark is of no use where restarts aren't watched")
}
