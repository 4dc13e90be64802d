package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMutantsList(t *testing.T) {
	code, stdout, stderr := said(t.Context(), "mutants", "-list")
	require.Equal(t, exitOK, code, stderr)
	assert.Greater(t, strings.Count(stdout, "\n"), 25)
	assert.Contains(t, stdout, "no-elapsed-check")
	assert.Contains(t, stdout, "(TestContract/miniredis)")

	code, stdout, _ = said(t.Context(), "mutants", "-list", "-only", "no-drift, set-without-nx")
	require.Equal(t, exitOK, code)
	assert.Equal(t, 2, strings.Count(stdout, "\n"))
}
