package quorum

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func named(names ...string) (all servers) {
	for _, name := range names {
		all = append(all, &server{name: name})
	}
	return all
}

func (all servers) names(order []int) (names []string) {
	for _, i := range order {
		names = append(names, all[i].name)
	}
	return names
}

// Clients agree on the instances however they list them, and the wait queues are spread over them.
func TestOrder(t *testing.T) {
	all, reversed := named("a", "b", "c", "d", "e"), named("e", "d", "c", "b", "a")
	require.Equal(t, all.names(all.inOrder()), reversed.names(reversed.inOrder()))
	first := map[string]int{}
	for n := range 1000 {
		key := fmt.Sprint("key", n)
		name := all[all.queueInstance(key)].name
		require.Equal(t, name, reversed[reversed.queueInstance(key)].name)
		first[name]++
	}
	for name, n := range first {
		require.InDelta(t, 200, n, 50, name)
	}
	require.Len(t, first, 5)
}
