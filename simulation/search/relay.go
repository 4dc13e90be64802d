package search

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// relayWorkload is a workload for hand-offs, between processes and between the goroutines of a process. Two or three
// clients hand leases off to each other by letters. The seed says which letters are late, sent twice, lost or sent back.
// The clients extend a lease before and after they hand it off, and resume or release a handle. Up to three more
// goroutines of each client wait for the same lock.
//
// There are three servers, so that each vote counts.
func relayWorkload() Workload {
	return Workload{
		Name: "relay", Title: "two or three clients of several goroutines hand their leases off, and the handles are late, lost or sent twice",
		Base: simulation.Config{
			Servers: 3, Processes: 3, Witness: true,
			Quorum: quorum.Config{TTL: 4 * time.Second, MaxWait: 40 * time.Second, MaxTTL: 9 * time.Second},
		},
		Span: 12 * time.Second,
		Work: relay,
	}
}

// What a client draws for each round.
const (
	relayStart = iota
	relayWaiting
	relayKeeping
	relayThinks
	relayWork
	relayExtends
	relayEnd
	relayBefore
	relayLetters
	relayReceiver
	relayDelay
	relayAgain
	relayTakes
	relayings
)

func relay(c *simulation.Client) {
	const third, goroutines = relayings * 1000, relayings*1000 + 1
	if !joins(c, third) {
		return
	}
	for range c.Pick(goroutines, 4) {
		c.Go(takeTurns)
	}
	for round := range 5 {
		d := draws{c, round * relayings}
		c.Sleep(d.ms(relayStart, 400))
		lease := receive(c, d.pick(relayTakes, 24))
		if lease == nil && round < 3 { // afterwards letters are still on their way
			lease = get(c, "k", d.pick(relayWaiting, 3))
		}
		if lease != nil {
			hold(c, lease, d)
		}
	}
}

// takeTurns is what another goroutine of the process does: it waits for the lock and holds it for moments.
func takeTurns(c *simulation.Client) {
	for round := range 8 {
		d := draws{c, round * relayings}
		c.Sleep(d.ms(relayStart, 40))
		lease := get(c, "k", waits)
		if lease == nil {
			return
		}
		update(c, lease, 0)
		c.Sleep(d.ms(relayWork, 4))
		if d.pick(relayEnd, 50) > 0 { // else it runs out
			_ = c.Release(lease) // the log has its outcome
		}
	}
}

// receive reads letters until one of them gives a lease, at most looks times.
func receive(c *simulation.Client, looks int) simulation.Lease {
	for range looks {
		for mine := c.Letters(c.Name); len(*mine) > 0; {
			text := (*mine)[0]
			*mine = (*mine)[1:]
			handle, err := quorum.ParseHandle(text)
			if err != nil {
				c.Note("a letter that is no handle")
				continue
			}
			if lease, err := c.Resume(handle); err == nil {
				return lease
			}
		}
		c.Sleep(200 * time.Millisecond)
	}
	return nil
}

// hold is what a client does with a lease until it hands it off, releases it or lets it
// run out.
func hold(c *simulation.Client, lease simulation.Lease, d draws) {
	if d.pick(relayKeeping, 3) == 0 {
		c.KeepAlive(lease)
	}
	thinks := d.some(relayThinks, 200, 400)
	update(c, lease, thinks)
	c.Sleep(d.ms(relayWork, 1200))
	if d.pick(relayExtends, 2) == 0 {
		extend(c, lease)
		if c.Valid(lease) {
			update(c, lease, thinks)
		}
	}
	switch end := d.pick(relayEnd, 10); {
	case end == 0:
		return // it runs out
	case end <= 2:
		_ = c.Release(lease)
		return
	}
	if d.pick(relayBefore, 2) == 0 {
		extend(c, lease) // its last messages may still be on their way when the handle is
	}
	handle, err := c.HandOff(lease)
	if err != nil {
		return
	}
	text, err := handle.Text()
	if err != nil {
		c.Note("a handle that can't be written")
		return
	}
	send(c, text, d)
	// A lease that was handed off is no longer its sender's, whatever it tries.
	if d.pick(relayAgain, 2) == 0 {
		if err := c.Extend(lease); err == nil {
			c.Note("extended what was handed off")
		}
	}
	if c.Valid(lease) {
		update(c, lease, thinks)
	}
}

// send sends a handle on its way, to one client or twice, which may be to the sender itself, and late.
func send(c *simulation.Client, text string, d draws) {
	for letter := range 1 + d.pick(relayLetters, 2) {
		about := letter * 1000
		to := fmt.Sprintf("c%d", 1+d.pick(relayReceiver+about, 3))
		takes := d.some(relayDelay+about, 4000, 8000)
		c.Go(func(c *simulation.Client) {
			c.Sleep(takes)
			letters := c.Letters(to)
			*letters = append(*letters, text)
		})
	}
}
