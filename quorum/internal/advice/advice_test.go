package advice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/advice"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestSize(t *testing.T) {
	require.Contains(t, advice.Servers(make([]advice.Clock, 1), 0)[0], "no redundancy")
	require.Contains(t, advice.Servers(make([]advice.Clock, 4), 0)[0], "than 3 do")
	require.Empty(t, advice.Servers(make([]advice.Clock, 5), 0))
}

func TestServer(t *testing.T) {
	fine := wire.Identity{RunID: "r", ReplID: "p", Epoch: "1", Persistence: "aof always", Served: time.Hour}
	require.Empty(t, advice.Server(fine, true))
	for says, change := range map[string]func(*wire.Identity){
		"may lose votes":      func(id *wire.Identity) { id.Persistence = "rdb" },
		"no mark can be kept": func(id *wire.Identity) { id.Served = -1 },
		"waits for MaxTTL":    func(id *wire.Identity) { id.Served, id.Promoted = -1, true },
		"hidden: its uptime":  func(id *wire.Identity) { id.Hidden = []string{"its uptime"} },
	} {
		id := fine
		change(&id)
		require.Contains(t, strings.Join(advice.Server(id, true), "\n"), says)
	}
	unmarked := fine
	unmarked.Served = -1
	require.Empty(t, advice.Server(unmarked, false), "the mark is of no use where restarts aren't watched")
}

// What counts is by how much two clocks certainly differ.
func TestClocks(t *testing.T) {
	clocks := []advice.Clock{{"A", 0, 10}, {"B", 200, 50}, {"C", 30, 5}, {"D", -9000, 0}, {"E", 0, 0}}
	require.Empty(t, advice.Servers(clocks, 140), "they may be no further apart")
	notes := advice.Servers(clocks, 139)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "the clock of B is at least")
	require.Contains(t, notes[0], "that of A,")
	require.Empty(t, advice.Servers(clocks[2:], 1), "a clock that isn't known is none")
}
