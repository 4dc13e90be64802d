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
		`{"do": "list"}`,
		`{"do": "run", "base": "S1", "seed": "0"}`,
		`{"do": "run", "base": "S1", "design": "token-admit", "seed": "18446744073709551615"}`,
		`{"do": "run", "base": "S4", "design": "redlock", "seed": "3"}`,
		`{"do": "run", "base": "all", "design": "redlock", "seed": "7"}`,
		`{"do": "run", "base": "S1", "seed": "0", "schedule": [{"kind": "switch", "process": "*", "server": "C", "for": "2s"}]}`,
		`{"do": "search", "base": "S1", "design": "redlock", "seed": "0", "kinds": ["pause"], "most": 4, "count": 40}`,
		`{"do": "shrink", "base": "pause", "design": "redlock", "seed": "1", "schedule": [{"kind": "pause", "process": "c1", "op": "write", "nth": 1, "for": "12s"}, {"kind": "pause", "process": "c2", "op": "write", "nth": 1, "for": "12s"}]}`,
		`{"do": "run", "base": "S99"}`,
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "ask.cjs"), folder)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(requests, "\n")), &out, &errs
	require.NoError(t, cmd.Run(), "%s", errs.String())
	answers := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, answers, len(requests)+2)
	for i, request := range requests {
		native := string(play.Answer([]byte(request)))
		if strings.HasPrefix(request, `{"do": "run"`) && i < len(requests)-1 { // the last one is an error
			assert.Contains(t, native, `"hash":"`, request)
		}
		assert.True(t, native == answers[i], "%s: native code says\n%.2000s\nand WebAssembly\n%.2000s", request, native, answers[i])
	}
	for _, answer := range answers[len(requests):] {
		assert.JSONEq(t, `{"error": "play: bad request: want one text"}`, answer)
	}
}
