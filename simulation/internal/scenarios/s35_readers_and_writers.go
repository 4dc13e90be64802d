package scenarios

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// places are the read/write lock's places that readers use. A lease counts as one on each of its places.
var places = []string{"book#1", "book#2"}

func (p *performer) AwaitBook(writes bool) bool {
	enter := func(ctx context.Context) (*quorum.Lease, error) {
		// anyof.Acquire waits with a goroutine for each place, and these draw from the process's random bytes in any order.
		for {
			lease, err := anyof.TryAcquire(ctx, p.Coordinator, places...)
			if !errors.Is(err, quorum.ErrTaken) {
				return lease, err
			}
			<-p.Coordinator.Config().Lab.Clock.After(10 * ms)
		}
	}
	if writes {
		enter = func(ctx context.Context) (*quorum.Lease, error) { return p.Coordinator.AcquireAll(ctx, places...) }
	}
	if _, without := p.Locker.(unqueued); !without {
		book, err := readwrite.New(p.Coordinator, "book", readwrite.Config{Readers: len(places)})
		if err != nil {
			panic(err)
		}
		if enter = book.Read; writes {
			enter = book.Write
		}
	}
	all, err := p.Gain(enter, places...)
	if p.all = all; err != nil {
		return p.has(nil, err)
	}
	return p.has(all[0], nil)
}

// unqueued is a library whose readers and writers take their places as soon as these are free.
type unqueued struct{ simulation.Locker }

func (l unqueued) Coordinator() *quorum.Coordinator {
	return l.Locker.(simulation.Coordinated).Coordinator()
}

func withoutQueue() designs.Design {
	return wrapped("without-a-queue", "the places of a read/write lock of this library, without the queue for them", "default",
		func(_ simulation.Process, l simulation.Locker) simulation.Locker { return unqueued{l} })
}

func readersAndWriters() []Scenario {
	const source = "S. Shpitalny, \"How to create a Semi-Fair Read-Write-Lock\" (2018), and Redisson #5379: its writers can starve"
	base := simulation.Config{Processes: 4, Quorum: quorum.Config{KeepAlive: true, MaxWait: 25 * time.Second}}
	// Two readers that overlap without a gap.
	reads := func(from time.Duration, times int) Script {
		return append(Script{until(from)}, slices.Concat(slices.Repeat([]step{awaitReading, read, sleep(200 * ms), release}, times))...)
	}
	return []Scenario{{
		ID:       "S35",
		Title:    "Readers follow each other without a gap, and a writer waits",
		Unplayed: notSeveral,
		Steps: []string{
			"0: c1 and c3 read in turn, for 200 each, so that one of them always reads",
			"1 000: c2 wants to write",
			"without a queue each reader finds a place, and c2 always finds one of them taken",
		},
		Assumption: "there is a moment at which nobody reads",
		Breaks:     "progress: the writer starves",
		Helps:      "one queue for readers and writers: who comes lets the one that is next go first",
		Source:     source,
		Base:       base,
		Scripts:    clients(reads(0, 12), Script{until(1_000 * ms), awaitWriting, update, release}, reads(100*ms, 12)),
		Free:       []Free{{Process: "c2", After: 1_000 * ms, By: 1_300 * ms}},
		Verdicts: expect(none.reaching("c2 write"), complete).
			and(breaks(record.NoProgress), "without-a-queue"),
		Variants: []designs.Design{withoutQueue()},
	}}
}
