package quorum

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func named(names ...string) *core {
	c := &core{}
	for _, name := range names {
		c.members = append(c.members, &member{name: name})
	}
	return c
}

func (c *core) names(order []int) (names []string) {
	for _, i := range order {
		names = append(names, c.members[i].name)
	}
	return names
}

// Clients agree on the instances however they list them, and the wait queues are spread over them.
func TestOrder(t *testing.T) {
	all, reversed := named("a", "b", "c", "d", "e"), named("e", "d", "c", "b", "a")
	require.Equal(t, all.names(all.decisionOrder()), reversed.names(reversed.decisionOrder()))
	first := map[string]int{}
	for n := range 1000 {
		key := fmt.Sprint("key", n)
		name := all.members[all.queueInstance(key)].name
		require.Equal(t, name, reversed.members[reversed.queueInstance(key)].name)
		first[name]++
	}
	for name, n := range first {
		require.InDelta(t, 200, n, 50, name)
	}
	require.Len(t, first, 5)
}

// Instances that don't answer, or can't notify, have the queue only if there are no others.
func TestSilentInstancesComeLast(t *testing.T) {
	loud := named("a", "b", "c")
	for mask := range 8 {
		all := named("a", "b", "c")
		for i, m := range all.members {
			m.silent.Store(mask&(1<<i) != 0)
		}
		for n := range 50 {
			key := fmt.Sprint("key", n)
			at, best := all.queueInstance(key), loud.queueInstance(key)
			if mask == 7 || mask>>best&1 == 0 {
				require.Equal(t, best, at)
			} else {
				require.Zero(t, mask>>at&1)
			}
		}
	}
}
