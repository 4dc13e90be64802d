package timeline_test

import (
	"fmt"
	"os"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// A server's clock jumps forward: a key expires too early, and two processes hold one lock.
func Example() {
	const ms = time.Millisecond
	message := func(at time.Duration, kind record.EventKind, process string) record.Event {
		return record.Event{At: at, Kind: kind, Process: process, Place: "A", N: 1, Op: "acquire"}
	}
	granted := func(at time.Duration, process string) record.Event {
		e := message(at, record.Voted, process)
		e.Words, e.Keys = "granted", []record.KeyState{{Key: "k", Until: at + 10*time.Second}}
		return e
	}
	believed := &record.Truth{Until: 10_900 * ms} // by the holders' clocks
	t := timeline.Of(record.Log{{
		{At: 1000 * ms, Kind: record.Asked, Process: "c1", Key: "k"},
		message(1000*ms, record.Sent, "c1"),
		granted(1000*ms+ms/2, "c1"),
		message(1001*ms, record.Received, "c1"),
		{At: 1001 * ms, Kind: record.Acquired, Process: "c1", Key: "k", Lease: 1, Validity: 9899 * ms, Truth: believed},
		{At: 1100 * ms, Kind: record.Suffered, Place: "A", Fault: &fault.Fault{Kind: fault.Step, By: 15 * time.Second}},
		{At: 1100 * ms, Kind: record.KeyChanged, Place: "A", Keys: []record.KeyState{{Key: "k", Until: record.Gone}}},
		{At: 1200 * ms, Kind: record.Asked, Process: "c2", Key: "k"},
		message(1200*ms, record.Sent, "c2"),
		granted(1200*ms+ms/2, "c2"),
		message(1201*ms, record.Received, "c2"),
		{At: 1201 * ms, Kind: record.Acquired, Process: "c2", Key: "k", Lease: 2, Validity: 9899 * ms, Truth: believed},
		{At: 1201 * ms, Kind: record.Found, Violation: &record.Violation{Kind: record.TwoHolders, Text: `c2 got "k" while c1 still had 9.699s of it`}},
		{At: 2000 * ms, Kind: record.Released, Process: "c2", Key: "k", Lease: 2},
		{At: 3000 * ms, Kind: record.Released, Process: "c1", Key: "k", Lease: 1},
	}})
	if err := t.Text(os.Stdout, ""); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Under a process: HOLDS = it believes that it holds the lock, paused = it is stopped. Under a server,
	// whose key it has: 1 c1's, 2 c2's, . nobody's, x down, ? hangs. A lock is valid on 1 of 1.
	//
	//          ms  c1            c2             A  what happened
	//   1 000.000  asks          .              .  c1 asks for k
	//   1 001.000  HOLDS         .              1  c1 GETS k, valid for 9.9 s (granted A)
	//   1 100.000  HOLDS         .              .  A's clock JUMPS by +15 s
	//   1 100.000  HOLDS         .              .  A no longer has k
	//   1 200.000  HOLDS         asks           .  c2 asks for k
	//   1 201.000  HOLDS         HOLDS          2  c2 GETS k, valid for 9.9 s (granted A)
	//   1 201.000  !! TWO HOLDERS: c2 got "k" while c1 still had 9.699s of it
	//           ⋮  799 ms pass
	//   2 000.000  HOLDS         .              2  c2 releases k
	//           ⋮  1 s pass
	//   3 000.000  .             .              2  c1 releases k
	//
	// c1 believed that it held k from 1 001.000 to 3 000.000 ms (released); for 1.9 s of it too few
	//    servers had its key.
	// c2 believed that it held k from 1 201.000 to 2 000.000 ms (released).
	// !! c1 and c2 both believed that they held k for 799 ms: from 1 201.000 to 2 000.000 ms.
	// !! 1 violation: two holders.
}
