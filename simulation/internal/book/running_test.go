package book_test

import (
	"fmt"
	"math/bits"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The formula for two sets whose quorums always share an instance, and the steps of
// the table, against all subsets.
func TestChangingTheSet(t *testing.T) {
	page, err := os.ReadFile("running.md")
	require.NoError(t, err)
	for old := uint(1); old < 1<<5; old++ {
		for new := uint(1); new < 1<<5; new++ {
			for qOld := 1; qOld <= bits.OnesCount(old); qOld++ {
				for qNew := 1; qNew <= bits.OnesCount(new); qNew++ {
					onlyOld, onlyNew := bits.OnesCount(old&^new), bits.OnesCount(new&^old)
					formula := max(0, qOld-onlyOld)+max(0, qNew-onlyNew) > bits.OnesCount(old&new)
					require.Equal(t, quorumsMeet(old, qOld, new, qNew), formula, "%05b/%d %05b/%d", old, qOld, new, qNew)
				}
			}
		}
	}
	const abcde, abcdf = 0b011111, 0b101111
	steps := []struct {
		set    uint
		quorum int
		row    string
	}{{abcde, 3, "| 0 | A B C D E | 3 |"}, {abcde, 4, "| 1 | A B C D E | 4 |"}, {abcdf, 4, "| 2 | A B C D F | 4 |"}, {abcdf, 3, "| 3 | A B C D F | 3 |"}}
	for i, step := range steps {
		require.Contains(t, string(page), step.row, fmt.Sprint("step ", i))
		if i > 0 {
			require.True(t, quorumsMeet(steps[i-1].set, steps[i-1].quorum, step.set, step.quorum), "step %d", i)
		}
	}
	require.False(t, quorumsMeet(abcde, 3, abcdf, 3), "the direct change")
}

// quorumsMeet tries all quorums of both sets.
func quorumsMeet(old uint, qOld int, new uint, qNew int) bool {
	for a := old; a > 0; a = (a - 1) & old {
		for b := new; b > 0; b = (b - 1) & new {
			if bits.OnesCount(a) == qOld && bits.OnesCount(b) == qNew && a&b == 0 {
				return false
			}
		}
	}
	return true
}
