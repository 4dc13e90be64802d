package command

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func listed(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	require.NoError(t, runList(context.Background(), args, &out, &stderr))
	assert.Empty(t, stderr.String())
	return out.String()
}

func TestListHasEverything(t *testing.T) {
	all := listed(t)
	for _, s := range scenarios.All() {
		assert.True(t, strings.Contains(all, "  "+s.ID+" ") && strings.Contains(all, s.Title+"\n"), s.ID)
	}
	for _, d := range designs.All() {
		assert.True(t, strings.Contains(all, "  "+d.Name+" "), d.Name)
	}
}

func TestListOne(t *testing.T) {
	s4 := listed(t, "s4")
	assert.Contains(t, s4, "S4: A server's clock jumps forward\n")
	assert.Contains(t, s4, "Kleppmann")
	assert.Regexp(t, `(?m)^  redlock +stale write, two holders$`, s4)
	assert.Regexp(t, `(?m)^  monitor +none$`, s4)
	assert.Contains(t, listed(t, "S12"), "in 20 % of the runs at least")
	assert.Contains(t, listed(t, "S4b"), "no cure: ")

	redlock := listed(t, "redlock")
	assert.Contains(t, redlock, "cure: token-admit")
	assert.Regexp(t, `(?m)^  S4 +A server's clock jumps forward: stale write, two holders$`, redlock)
	for _, text := range []string{s4, redlock, listed(t)} {
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100)
		}
	}
}
