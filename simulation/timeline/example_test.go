package timeline_test

import (
	"fmt"
	"os"

	"github.com/redquorum/redlock/simulation/timeline"
)

// A server's clock jumps forward: it forgets a key too soon, and two processes hold
// one lock.
func Example() {
	trace := `1000.000000 c1 asked k
1000.000000 c1 acquire A#1
1000.500000 A acquire c1#1 granted key=k until=11000500000
1001.000000 c1 hears A#1
1001.000000 c1 acquired k validity=9899000000
1100.000000 A suffers step by=15000000000
1100.000000 A has key=k gone
1200.000000 c2 asked k
1200.000000 c2 acquire A#1
1200.500000 A acquire c2#1 granted key=k until=11200500000
1201.000000 c2 hears A#1
1201.000000 c2 acquired k validity=9899000000
1201.000000 VIOLATION two holders c2 got "k" while c1 still had 9.699s of it
2000.000000 c2 released k
3000.000000 c1 released k
`
	t, err := timeline.Parse([]byte(trace))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := t.Text(os.Stdout, timeline.TextOptions{Width: 90}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Under a process: HOLDS = it believes that it holds the lock, paused = it doesn't run.
	// Under an instance, whose key it has: 1 c1's, 2 c2's, . nobody's, x down, ? hangs. A lock
	// is true on 1 of 1.
	//
	//          ms  c1            c2             A  what happened
	//   1 000.000  asks          .              .  c1 asks for k
	//   1 001.000  HOLDS         .              1  c1 GETS k, valid for 9.9 s (granted A)
	//   1 100.000  HOLDS         .              .  A's clock JUMPS by +15 s
	//   1 100.000  HOLDS         .              .  A has k no more
	//   1 200.000  HOLDS         asks           .  c2 asks for k
	//   1 201.000  HOLDS         HOLDS          2  c2 GETS k, valid for 9.9 s (granted A)
	//   1 201.000  !! TWO HOLDERS: c2 got "k" while c1 still had 9.699s of it
	//           ⋮  799 ms pass
	//   2 000.000  HOLDS         .              2  c2 releases k
	//           ⋮  1 s pass
	//   3 000.000  .             .              2  c1 releases k
	//
	// c1 believed that it held k from 1 001.000 to 3 000.000 ms (released); for 1.9 s of it
	//    too few instances had its key.
	// c2 believed that it held k from 1 201.000 to 2 000.000 ms (released).
	// !! c1 and c2 both believed that they held k for 799 ms: from 1 201.000 to 2 000.000 ms.
	// !! 1 violation: two holders.
}

func ExampleTimeline_Overlaps() {
	t, err := timeline.Parse([]byte("0.000000 c1 acquired k validity=10000000000\n5000.000000 c2 acquired k validity=10000000000\n20000.000000 c2 ends\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range t.Overlaps() {
		fmt.Printf("%s and %s both believed that they held %s, from %v to %v\n", o.First, o.Second, o.Key, o.From, o.Until)
	}
	// Output: c1 and c2 both believed that they held k, from 5s to 10s
}
