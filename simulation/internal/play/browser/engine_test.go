package browser_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
)

// The same request has the same answer as native code and as WebAssembly, byte for byte, the hash
// of the trace included. With REDLOCK_REQUIRE_NODE=1 a missing node is a failure.
func TestEngineAnswersAsNativeCodeDoes(t *testing.T) {
	t.Parallel() // it waits for the compiler
	folder := built(t)
	node, err := exec.LookPath("node")
	if err != nil {
		require.Empty(t, os.Getenv("REDLOCK_REQUIRE_NODE"), "node isn't installed: %v", err)
		t.Skip("node isn't installed: ", err)
	}
	requests := []string{
		`{"base": "S1", "seed": "0"}`,
		`{"base": "S1", "design": "token-admit", "seed": "18446744073709551615"}`,
		`{"base": "S4", "design": "redlock", "seed": "3"}`,
		`{"base": "all", "design": "redlock", "seed": "7"}`,
		`{"base": "S1", "seed": "0", "schedule": [{"kind": "switch", "process": "*", "server": "C", "for": "2s"}]}`,
		`{"base": "S99", "seed": "0"}`,
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "ask.cjs"), folder)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(requests, "\n")), &out, &errs
	require.NoError(t, cmd.Run(), "%s", errs.String())
	answers := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, answers, len(requests))
	for i, request := range requests {
		native := string(play.Answer([]byte(request)))
		assert.Equal(t, i < len(requests)-1, strings.Contains(native, `"hash":"`), request) // the last one is an error
		assert.True(t, native == answers[i], "%s: native code says\n%.2000s\nand WebAssembly\n%.2000s", request, native, answers[i])
	}
}
