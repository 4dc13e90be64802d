//go:build unix

package oracle

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// flawedDrivers builds the driver of the box's tests, which has flaws by their names.
func flawedDrivers(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "driver")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./simulation/box")
	build.Dir = "../.."
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return program
}

// Real clients, right and flawed ones, are judged by what the box noted in the order in which it happened.
func TestBox(t *testing.T) {
	long.Test(t, "its leases run out in real time")
	program := flawedDrivers(t)
	driver := func(words string) []string { return []string{"env", "BOX_TEST_DRIVER=" + words, program} }
	found := make(chan record.ViolationKind, 10_000)
	t.Run("all", func(t *testing.T) {
		for _, tc := range []struct {
			name     string
			command  []string
			embedded bool
			servers  int
			faults   []string
		}{
			{"right", driver(""), true, 5, []string{"none", "crash", "hang", "stop", "network", "pause"}},
			{"ignores-deadline", driver("ignores-deadline"), true, 5, []string{"none", "pause"}},
			{"extends-all", driver("extends-all"), true, 5, []string{"pause"}},
			{"deletes-all", driver("deletes-all"), true, 5, []string{"pause"}},
			{"minority", driver("minority"), true, 5, []string{"network"}},
			{"late-held", driver("late-held"), true, 5, []string{"pause"}},
			{"same-token", driver("same-token"), true, 5, []string{"none", "pause"}},
			{"one server", []string{instancetest.Python(t), "../box/testdata/driver.py"}, true, 1, []string{"none", "crash", "restart"}},
			{"same-value", driver("waits same-value"), false, 5, []string{"network"}},
			{"processes", driver(""), false, 5, []string{"failover", "address"}},
		} {
			for _, c := range box.Cases(tc.servers) {
				if !slices.Contains(tc.faults, c.Fault) {
					continue
				}
				t.Run(tc.name+"/"+c.Fault+"/"+c.Title, func(t *testing.T) {
					t.Parallel()
					if !tc.embedded {
						instancetest.Since(t, 6, 0) // skips it if there is no server
					}
					options := box.Options{Command: tc.command, Embedded: tc.embedded, Servers: c.Servers, TTL: 700 * time.Millisecond, Schedule: c.Schedule.String()}
					played, err := box.Once(t.Context(), options)
					require.NoError(t, err)
					for _, p := range promises {
						is := slices.ContainsFunc(judged(played.Record, false), func(b broken) bool { return b.kind == p.kind })
						want := slices.ContainsFunc(played.Findings, func(f box.Finding) bool { return record.ViolationKind(f.Kind) == p.kind })
						require.Equal(t, want, is, "%s: %v", p.kind, played.Findings)
						if is {
							found <- p.kind
						}
					}
				})
			}
		}
	})
	close(found)
	kinds := tally{}
	for kind := range found {
		kinds[kind]++
	}
	kinds.require(t, 1)
}
