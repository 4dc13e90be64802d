package designs_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	ms  = time.Millisecond
	key = "k"
)

// seeds is the number of seeds of each run: latencies and the order of simultaneous events
// differ, the verdict doesn't.
const seeds = 10

// design returns a design by its name.
func design(t *testing.T, name string) designs.Design {
	t.Helper()
	d, err := designs.ByName(name)
	require.NoError(t, err)
	return d
}

// play runs a design with all seeds and requires the same kinds of violations in each run. It
// returns the last run.
func play(t *testing.T, name string, cfg simulation.Config, schedule simulation.Schedule, work simulation.Workload, want ...record.ViolationKind) simulation.Result {
	t.Helper()
	slices.Sort(want)
	d := design(t, name)
	var last simulation.Result
	for seed := range uint64(seeds) {
		r, err := simulation.Run(seed, d.Configure(cfg), schedule, work)
		require.NoError(t, err)
		require.Equal(t, want, r.Kinds(), "%s, seed %d: %v\n%s", name, seed, r.Log.Violations(), r.Log)
		last = r
	}
	return last
}

// none is the verdict of a run without violations.
var none []record.ViolationKind

// parts gives each process its own workload.
func parts(byName map[string]simulation.Workload) simulation.Workload {
	return func(c *simulation.Client) {
		if part := byName[c.Name]; part != nil {
			part(c)
		}
	}
}

// take acquires the key, or returns nil.
func take(c *simulation.Client) simulation.Lease {
	lease, err := c.TryAcquire(key)
	if err != nil {
		return nil
	}
	return lease
}

// update reads, adds one and writes, if the lease is valid in between.
func update(c *simulation.Client, lease simulation.Lease) {
	value, version, err := c.Read(lease)
	if err != nil || !c.Valid(lease) {
		return
	}
	_ = c.Write(lease, value+1, version) // refused or unknown: the checks see the outcome
}

// did counts how often a process did something.
func did(r simulation.Result, process, what string) int {
	n := 0
	for _, e := range r.Log.History() {
		if e.Process == process && e.Kind.String() == what {
			n++
		}
	}
	return n
}

func TestEveryDesignIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, d := range designs.All() {
		assert.Regexp(t, regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), d.Name)
		assert.False(t, names[d.Name], "two designs are named %s", d.Name)
		names[d.Name] = true
		for what, text := range map[string]string{"Title": d.Title, "Source": d.Source, "Breaks": d.Breaks, "Group": string(d.Group)} {
			assert.NotEmpty(t, text, "%s has no %s", d.Name, what)
		}
		assert.Contains(t, []int{1, 5}, d.Servers, d.Name)
		assert.NotNil(t, d.Apply, d.Name)
	}
}
