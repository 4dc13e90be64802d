package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// rivals acquire the same lock at the same moment, and know the servers before.
func rivals(c *simulation.Client) {
	c.Sleep(time.Duration(c.Index) * 20 * ms)
	if lease, err := c.TryAcquire("warm"); err == nil {
		_ = c.Release(lease)
	}
	c.SleepUntil(1500 * ms)
	if lease, err := c.TryAcquire("k"); err == nil {
		_ = c.Release(lease)
	}
	c.Sleep(150 * ms)
}

// inOrder plays rivals in an order.
func inOrder(t *testing.T, schedule simulation.Schedule, choose func([]kernel.Option) int) (simulation.Result, *kernel.Order) {
	t.Helper()
	order := &kernel.Order{From: 1500 * ms, Choose: choose}
	r, err := simulation.Run(1, simulation.Config{Servers: 3, Progress: -1, Order: order}, schedule, rivals)
	require.NoError(t, err)
	return r, order
}

// The choices of a run are the run: they give the same trace again, and others another one.
func TestChoicesAreTheRun(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", For: 15 * time.Second}, {Kind: fault.Restart, Server: "B"}}
	digests := map[string]bool{}
	for seed := range uint64(20) {
		drawn, order := inOrder(t, schedule, kernel.DrawOrder(seed))
		require.NotEmpty(t, order.Choices())
		again, followed := inOrder(t, schedule, kernel.Follow(order.Choices()))
		require.Equal(t, drawn.Log.Digest(), again.Log.Digest())
		require.Equal(t, order.Steps, followed.Steps)
		digests[drawn.Log.Digest()] = true
	}
	require.Greater(t, len(digests), 15)
	first, _ := inOrder(t, schedule, nil)
	zero, _ := inOrder(t, schedule, kernel.Follow([]int{0}))
	require.Equal(t, first.Log.Digest(), zero.Log.Digest())
}

// Every event is an option from its cause on until it happens, and time stands still as long as
// there is one.
func TestOptionsStayUntilTheyHappen(t *testing.T) {
	for seed := range uint64(20) {
		_, order := inOrder(t, nil, kernel.DrawOrder(seed))
		open, happened := map[uint64]bool{}, 0
		for i, s := range order.Steps {
			now := map[uint64]bool{}
			for _, o := range s.Options {
				require.False(t, now[o.ID], "two events have one name")
				now[o.ID] = true
				require.Less(t, o.After, i)
				if !open[o.ID] && o.ID != kernel.TimePasses && !passed(order.Steps[:i]) {
					require.Equal(t, i-1, o.After, "it is an option at once")
				}
			}
			for id := range open {
				require.True(t, now[id] || s.Expands, "step %d: an option was lost", i)
			}
			delete(now, s.Options[s.Chosen].ID)
			open = now
			require.NotZero(t, s.Touched)
			happened++
		}
		require.Greater(t, happened, 20)
	}
}

// passed reports whether the last step let time pass, or there is none.
func passed(steps []kernel.OrderStep) bool {
	if len(steps) == 0 {
		return true
	}
	last := steps[len(steps)-1]
	return last.Options[last.Chosen].ID == kernel.TimePasses
}

// A run that Choose ends leaves nothing behind.
func TestOrderThatIsEnded(t *testing.T) {
	for most := range 20 {
		n := 0
		r, order := inOrder(t, nil, func([]kernel.Option) int {
			if n++; n > most {
				return -1
			}
			return 0
		})
		require.Len(t, order.Steps, most)
		require.Equal(t, most+1, n, "it isn't asked again")
		require.Empty(t, r.Kinds())
	}
}

func TestLoseOneMessage(t *testing.T) {
	for way, lost := range map[fault.Way]record.EventKind{fault.Requests: record.RequestLost, fault.Replies: record.ReplyLost} {
		schedule := simulation.Schedule{{Kind: fault.Lose, Process: "c1", Server: "B", Op: "acquire", Nth: 2, Way: way}}
		r, err := simulation.Run(1, simulation.Config{Servers: 3}, schedule, rivals)
		require.NoError(t, err)
		asked := uint64(0)
		n := 0
		for e := range r.Log.All() {
			if e.Kind == record.Sent && e.Process == "c1" && e.Place == "B" && e.Op == "acquire" {
				asked = e.N
			}
			if e.Kind == record.RequestLost || e.Kind == record.ReplyLost {
				n++
				assert.Equal(t, lost, e.Kind)
				assert.Equal(t, asked, e.N)
			}
		}
		assert.Equal(t, 1, n)
	}
}

// A stall holds back what is on its way, and what is sent meanwhile.
func TestStall(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Stall, At: 1500*ms + 100*time.Microsecond, For: 80 * ms}}
	r, err := simulation.Run(1, simulation.Config{Servers: 3}, schedule, rivals)
	require.NoError(t, err)
	late := 0
	for e := range r.Log.All() {
		switch e.Kind {
		case record.Voted, record.Received:
			require.False(t, e.At > schedule[0].At && e.At < schedule[0].At+schedule[0].For, "%v arrives during the stall", e)
			if e.At == schedule[0].At+schedule[0].For {
				late++
			}
		}
	}
	require.Positive(t, late)
}

func TestRunRefusesAnOrderForManyProcesses(t *testing.T) {
	_, err := simulation.Run(1, simulation.Config{Processes: 40, Order: &kernel.Order{}}, nil, rivals)
	require.ErrorIs(t, err, simulation.ErrConfig)
}
