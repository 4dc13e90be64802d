package rendezvous_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/rendezvous"
)

type instance struct {
	name   string
	silent bool
}

type instances []instance

func (all instances) order(key string) []int {
	return rendezvous.Order(key, len(all), all.instance)
}

func (all instances) first(key string) int { return rendezvous.First(key, len(all), all.instance) }

func (all instances) instance(i int) (string, bool) { return all[i].name, all[i].silent }

func (all instances) names(order []int) (names []string) {
	for _, i := range order {
		names = append(names, all[i].name)
	}
	return names
}

// Clients agree on the order however they list the instances, and the first instances are spread
// over the keys.
func TestOrder(t *testing.T) {
	all := instances{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	first := map[string]int{}
	for n := range 1000 {
		key := fmt.Sprint("key", n)
		order := all.order(key)
		require.Equal(t, all.names(order), reversed.names(reversed.order(key)))
		require.Equal(t, order[0], all.first(key))
		first[all[order[0]].name]++
	}
	for name, n := range first {
		require.InDelta(t, 200, n, 50, name)
	}
	require.Len(t, first, 5)
}

// Names that differ in the last byte only are first for as many keys as others.
func TestSimilarNames(t *testing.T) {
	for _, names := range [][]string{{"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"}, {"redis-1", "redis-2", "redis-3"}, {"A", "B", "C"}, {"a:6379", "b:6379", "c:6379"}} {
		var all instances
		for _, name := range names {
			all = append(all, instance{name: name})
		}
		first := map[string]int{}
		for n := range 3000 {
			first[names[all.first(fmt.Sprint("orders:", n))]]++
		}
		for _, name := range names {
			require.InDelta(t, 1000, first[name], 120, "%v", first)
		}
	}
}

func TestSilentInstancesComeLast(t *testing.T) {
	for mask := range 8 {
		all := instances{{"a", mask&1 != 0}, {"b", mask&2 != 0}, {"c", mask&4 != 0}}
		loud := instances{{name: "a"}, {name: "b"}, {name: "c"}}
		for n := range 50 {
			key := fmt.Sprint("key", n)
			var want, last []int
			for _, i := range loud.order(key) {
				if all[i].silent {
					last = append(last, i)
				} else {
					want = append(want, i)
				}
			}
			want = append(want, last...)
			require.Equal(t, want, all.order(key))
			require.Equal(t, want[0], all.first(key))
		}
	}
}
