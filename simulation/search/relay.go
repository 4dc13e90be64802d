package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// Relay is a workload for leases that pass from process to process: two or three clients
// that hand leases off to each other by letters, which are late, lost, repeated or sent
// to two receivers, as the seed says. They extend a lease before and after it is handed
// off, resume a handle or release it, and look at the lock. Where servers keep all that
// they answered (simulation.KeepAll) they also vouch for them when they start.
//
// Of three servers each vote counts. A connection may live on for a TTL when its address
// has moved, see simulation.Draw.
func Relay() Workload {
	return Workload{
		Name: "relay", Title: "two or three clients hand their leases off to each other, and the handles are late, lost or sent twice",
		Base: simulation.Config{
			Servers: 3, Processes: 3, Witness: true, ConnLife: 4 * time.Second,
			Quorum: quorum.Config{Terms: quorum.Terms{TTL: 4 * time.Second, MaxWait: 15 * time.Second}, MaxTTL: 9 * time.Second},
		},
		Rounds: 3, Span: 12 * time.Second,
		Work: func(cfg simulation.Config, rounds int) simulation.Workload {
			return relay{rounds: rounds, vouches: cfg.Persistence == simulation.KeepAll}.play
		},
	}
}

// relay is Relay with its rounds.
type relay struct {
	rounds  int
	vouches bool
}

// What a client draws for each round.
const (
	relayStart = iota
	relayLooks
	relayWaiting
	relayKeeping
	relayThinks
	relayWork
	relayExtends
	relayEnd
	relayBefore
	relayReceiver
	relayFate
	relayDelay
	relayAgain
	relayTakes
	relayLate
	relayings
)

func (w relay) play(c *simulation.Client) {
	if !joins(c, relayings*1000) {
		return
	}
	if w.vouches && c.Coordinator != nil {
		if err := c.Coordinator.Trust(c.Context()); err != nil {
			c.Note("trust failed")
		}
	}
	for round := range w.rounds {
		pick := func(about, n int) int { return c.Pick(uint64(round*relayings+about), n) }
		const ms = time.Millisecond
		c.Sleep(time.Duration(pick(relayStart, 400)) * ms)
		lease := w.receive(c, pick, pick(relayTakes, 12))
		if lease == nil {
			lease = get(c, pick(relayWaiting, 3))
		}
		if lease != nil {
			w.hold(c, lease, pick)
		}
		if pick(relayLooks, 3) == 0 {
			_, _ = c.Inspect("k") // what it found is in the log
		}
	}
	// Letters are still on their way.
	for round := range 2 {
		pick := func(about, n int) int { return c.Pick(uint64((w.rounds+round)*relayings+about), n) }
		if lease := w.receive(c, pick, 20); lease != nil {
			w.hold(c, lease, pick)
		}
	}
}

// receive looks for letters, so many times, until one of them gives a lease.
func (w relay) receive(c *simulation.Client, pick func(about, n int) int, looks int) simulation.Lease {
	for look := range looks {
		for {
			text, ok := c.Letter()
			if !ok {
				break
			}
			handle, err := quorum.ParseHandle(text)
			if err != nil {
				c.Note("a letter that is no handle")
				continue
			}
			if pick(relayLate+100*look, 6) == 0 {
				_ = c.ReleaseHandle(handle) // what became of it is in the log
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

// hold is what is done with a lease until it is handed off, released or left to run out.
func (w relay) hold(c *simulation.Client, lease simulation.Lease, pick func(about, n int) int) {
	const ms = time.Millisecond
	extend := func() {
		if err := c.Extend(lease); err != nil {
			c.Note("not extended")
		}
	}
	if pick(relayKeeping, 3) == 0 {
		c.KeepAlive(lease)
	}
	thinks := time.Duration(max(0, pick(relayThinks, 400)-200)) * ms
	update(c, lease, thinks)
	c.Sleep(time.Duration(pick(relayWork, 1200)) * ms)
	if pick(relayExtends, 2) == 0 {
		extend()
		if c.Valid(lease) {
			update(c, lease, thinks)
		}
	}
	switch end := pick(relayEnd, 10); {
	case end == 0:
		return // it runs out
	case end <= 2:
		_ = c.Release(lease)
		return
	}
	if pick(relayBefore, 2) == 0 {
		extend() // its last messages may still be on their way when the handle is
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
	w.send(c, text, pick)
	// What was handed off isn't ours, whatever we try.
	if pick(relayAgain, 2) == 0 {
		if err := c.Extend(lease); err == nil {
			c.Note("extended what was handed off")
		}
	}
	if c.Valid(lease) {
		update(c, lease, thinks)
	}
	if pick(relayAgain+1000, 8) == 0 {
		c.Sleep(time.Duration(pick(relayAgain+2000, 3000)) * ms)
		_ = c.ReleaseHandle(handle)
	}
}

// send sends a handle on its way.
func (w relay) send(c *simulation.Client, text string, pick func(about, n int) int) {
	const ms = time.Millisecond
	names := []string{"c1", "c2", "c3"}
	names = append(names[:c.Index:c.Index], names[c.Index+1:]...)
	at := pick(relayReceiver, len(names))
	delay := func(about int) time.Duration {
		if pick(about, 2) == 0 {
			return 0
		}
		return time.Duration(pick(about+1000, 4000)) * ms
	}
	c.Send(names[at], text, delay(relayDelay))
	switch pick(relayFate, 6) {
	case 0: // twice
		c.Send(names[at], text, delay(relayDelay+2000))
	case 1, 2: // to somebody else, too
		c.Send(names[1-at], text, delay(relayDelay+2000))
	case 3: // and to oneself: nobody may have got it
		c.Send(c.Name, text, delay(relayDelay+2000))
	}
}
