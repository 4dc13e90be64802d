//go:build unix

package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario's scripts and faults become steps in the order of their times. What a client asks for
// depends on what it gets in the simulation.
func TestPlan(t *testing.T) {
	const begin = "cut c1 D, cut c1 E, c1 waits, c1 works, await ABC, stop C, start C, "
	for _, test := range []struct{ scenario, design, want string }{
		{"S7", "redlock", begin + "c2 waits, c2 works, c2 checks, c2 releases, c1 checks, c1 works, c1 checks, c1 releases"},
		{"S7", "default", begin + "c2 tries, c1 checks, c1 works, c1 checks, c1 releases"},
		{"S1", "default", "c1 waits, c1 checks, c1 reads, pause c1, gone ABCDE, c2 waits, c2 works, resume c1, c1 writes, c1 releases, c2 checks, c2 releases"},
		{"S2", "default", "c1 waits, c1 checks, c1 reads, c1 sends, c1 checks, c1 releases, c2 waits, c2 works, c2 checks, c2 releases, c1 lands"},
		{"X1", "default", "c1 waits, c1 checks, c1 reads, kill c1, c2 waits, c2 works, c2 checks, c2 releases"},
		{"S10", "default", "miss c1 C, miss c1 D, cut c1 E, cut c2 E, c1 tries, c2 gets, c2 works, c2 checks, c2 releases"},
		{"S8c", "replica-async", "follow A, follow A, lag A, lag A, c1 waits, await A, fail A, c2 waits, c2 works, c1 checks, c1 works, c1 checks, c1 releases, c2 checks, c2 releases"},
	} {
		p, err := prepare(Case{Scenario: test.scenario}, test.design)
		require.NoError(t, err)
		var steps []string
		for _, step := range p.schedule {
			steps = append(steps, step.String())
		}
		require.Equal(t, test.want, strings.Join(steps, ", "), "%s with %s", test.scenario, test.design)
	}
}
