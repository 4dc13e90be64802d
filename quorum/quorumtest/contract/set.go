package contract

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

func checkSetAgrees(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	for i, version := range []uint64{7, 8, 8, 12, 100, 1 << 63} {
		cmd := c.acquire("a", "v")
		cmd.Fence.Set = wire.Set{Name: "main", Version: version, N: 3 + 2*int(version%3), Q: 3}
		require.Equal(c.t, token+1+fencing.Token(i), c.granted(cmd).Token, "%v", cmd.Fence.Set)
		c.granted(c.release("a", "v"))
	}
	unnamed := c.acquire("b", "v")
	unnamed.Fence.Set = wire.Set{N: 3, Q: 2}
	token = c.granted(unnamed).Token
	c.granted(c.release("b", "v"))
	require.Equal(c.t, token+1, c.granted(unnamed).Token)
}

func checkSetMismatch(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	others := []wire.Set{
		{Name: "main", Version: 6, N: 5, Q: 3},
		{Name: "main", Version: 0, N: 5, Q: 3},
		{Name: "main", Version: 7, N: 3, Q: 3},
		{Name: "main", Version: 7, N: 5, Q: 4},
		{Name: "main", Version: 7, N: 15, Q: 3},
		{Name: "other", Version: 7, N: 5, Q: 3},
		{Name: "other", Version: 8, N: 5, Q: 3},
		{Name: "main2", Version: 70, N: 5, Q: 3},
		{Name: "mai", Version: 70, N: 5, Q: 3},
		{Name: "", Version: 8, N: 5, Q: 3},
	}
	for i, set := range others {
		cmd := c.acquire("a", "w")
		cmd.Fence.Set = set
		c.changesNothing("a", func() { c.mismatch(cmd, main) })
		// Each resource has its own set.
		elsewhere := c.acquire(fmt.Sprint("elsewhere", i), "w")
		elsewhere.Fence.Set = set
		c.granted(elsewhere)
	}
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token, "a refused client has left its mark")
	c.granted(c.release("a", "v"))

	// Versions are numbers: 10 is above 9, and those above 2^53 differ.
	for _, step := range [][2]uint64{{9, 10}, {99, 100}, {1<<53 + 2, 1<<53 + 3}} {
		older, newer := main, main
		older.Version, newer.Version = step[0], step[1]
		name := fmt.Sprint("from ", older.Version)
		cmd := c.acquire(name, "v")
		cmd.Fence.Set = older
		c.granted(cmd)
		c.granted(c.release(name, "v"))
		cmd.Fence.Set = newer
		c.granted(cmd)
		c.granted(c.release(name, "v"))
		cmd.Fence.Set = older
		c.changesNothing(name, func() { c.mismatch(cmd, newer) })
	}
}

// mismatch demands that the request is refused because of the set.
func (c *check) mismatch(cmd wire.Request, theirs wire.Set) {
	c.t.Helper()
	vote := c.do(cmd)
	require.Equal(c.t, wire.Refused, vote.Outcome, "%v locks what was last locked under %v", cmd.Fence.Set, theirs)
	require.ErrorIs(c.t, vote.Err, wire.ErrSetMismatch)
	var mismatch *wire.SetMismatchError
	require.ErrorAs(c.t, vote.Err, &mismatch)
	require.Equal(c.t, cmd.Fence.Set, mismatch.Mine)
	require.Equal(c.t, theirs.String(), mismatch.Theirs)
}

// checkSetHeld: a newer set takes a resource over only when its key is free. The instance may
// give either of the two reasons for the refusal.
func checkSetHeld(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	for _, set := range []wire.Set{
		{Name: "main", Version: 8, N: 7, Q: 4},
		{Name: "main", Version: 6, N: 5, Q: 3},
		{Name: "other", Version: 8, N: 5, Q: 3},
	} {
		cmd := c.acquire("a", "w")
		cmd.Fence.Set = set
		c.changesNothing("a", func() { require.Equal(c.t, wire.Refused, c.do(cmd).Outcome) })
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token)
}
