package quorum

import (
	"fmt"
	"slices"
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

// Clients agree on the order however they list the instances, and the first instances are spread
// over the keys.
func TestOrder(t *testing.T) {
	all, reversed := named("a", "b", "c", "d", "e"), named("e", "d", "c", "b", "a")
	first := map[string]int{}
	for n := range 1000 {
		key := fmt.Sprint("key", n)
		order := all.inOrder(key)
		require.Equal(t, all.names(order), reversed.names(reversed.inOrder(key)))
		require.Equal(t, order[0], all.queueInstance(key))
		first[all.names(order)[0]]++
	}
	for name, n := range first {
		require.InDelta(t, 200, n, 50, name)
	}
	require.Len(t, first, 5)
}

// Names that differ in the last byte only are first for as many keys as others.
func TestSimilarNames(t *testing.T) {
	for _, names := range [][]string{{"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"}, {"redis-1", "redis-2", "redis-3"}, {"A", "B", "C"}, {"a:6379", "b:6379", "c:6379"}} {
		all, first := named(names...), map[string]int{}
		for n := range 3000 {
			first[names[all.queueInstance(fmt.Sprint("orders:", n))]]++
		}
		for _, name := range names {
			require.InDelta(t, 1000, first[name], 120, "%v", first)
		}
	}
}

func TestSilentInstancesComeLast(t *testing.T) {
	loud := named("a", "b", "c")
	for mask := range 8 {
		all := named("a", "b", "c")
		for i, m := range all.members {
			m.silent.Store(mask&(1<<i) != 0)
		}
		for n := range 50 {
			key := fmt.Sprint("key", n)
			want := slices.Clone(loud.inOrder(key))
			slices.SortStableFunc(want, func(a, b int) int { return mask>>a&1 - mask>>b&1 })
			require.Equal(t, want, all.inOrder(key))
			require.Equal(t, want[0], all.queueInstance(key))
		}
	}
}
