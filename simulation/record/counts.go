package record

import (
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Counts counts the situations that the checks look for. That a check found nothing proves
// little if its situation never occurred.
func (l Log) Counts() map[string]int {
	c := counting{
		counts: make(map[string]int, 32), votes: map[[2]string]int{}, over: map[call]bool{}, quarantines: map[instance]time.Duration{},
		values: map[keyed]bool{}, until: map[int]time.Duration{}, holders: map[int]string{},
	}
	for e := range l.All() {
		c.kinds[e.Kind]++
		c.take(e)
	}
	for kind, n := range c.kinds {
		if what := kinds[kind].counter; n > 0 && what != "" {
			c.counts[what] = n
		}
	}
	for vote, n := range c.votes {
		c.counts[vote[0]+" "+vote[1]] = n
	}
	return c.counts
}

// counting counts one log.
type counting struct {
	counts map[string]int
	kinds  [eventKinds]int
	votes  map[[2]string]int

	over        map[call]bool              // requests for whose replies nobody waits
	quarantines map[instance]time.Duration // until when votes are ignored
	values      map[keyed]bool             // of leases
	until       map[int]time.Duration      // by lease: how long its holder believes in it
	holders     map[int]string             // by lease: its process
}

// instance is a server as a process knows it, and call a request to it.
type instance struct{ process, name string }

type call struct {
	instance
	n uint64
}

// keyed is the value of a key.
type keyed struct{ key, value string }

func (c *counting) take(e *Event) {
	if e.Truth != nil && e.Lease != 0 {
		c.until[e.Lease] = e.Truth.Until
	}
	switch e.Kind {
	case Counted:
		c.counts[e.Words]++
	case Started:
		for i := range c.quarantines {
			if i.process == e.Process {
				delete(c.quarantines, i)
			}
		}
	case Quarantined:
		i := instance{e.Process, e.Place}
		c.quarantines[i] = max(c.quarantines[i], e.At+e.Validity)
	case Received, GaveUp, CutOff:
		c.over[call{instance{e.Process, e.Place}, e.N}] = true
	case Voted:
		c.voted(e)
	case Acquired:
		c.decided(e)
		c.acquired(e)
	case Extended:
		c.backed(e)
	case Released, HandedOff:
		c.until[e.Lease] = min(c.until[e.Lease], e.At)
	case Crashed:
		for lease, process := range c.holders {
			if process == e.Process {
				c.until[lease] = min(c.until[lease], e.At)
			}
		}
	case Refused:
		c.decided(e)
		c.counts[noLease+e.Words]++
	case Read, Write:
		c.used(e)
	}
}

func (c *counting) used(e *Event) {
	switch {
	case e.Words == "refused" && e.Kind == Read:
		c.counts[readRefused]++
	case e.Words == "refused":
		c.counts[writeRefused]++
	case e.Words == "repeated" && e.Kind == Write:
		c.counts[writeRepeated]++
	case e.Kind == Write && e.Words == "" && e.At >= c.until[e.Lease]:
		c.counts[writeAfterLease]++
	}
}

func (c *counting) voted(e *Event) {
	c.votes[[2]string{e.Op, e.Words}]++
	switch e.Op {
	case wire.Acquire.String():
		if e.Words == wire.Granted.String() && c.over[call{instance{e.Process, e.Change.Instance}, e.N}] {
			c.counts[grantAfterTimeout]++
		}
	case wire.Raise.String():
		c.counts[raiseNeeded]++
	}
}

// decided counts a round at whose end an instance was in quarantine. That doesn't
// depend on goroutine scheduling, unlike the set of votes counted so far.
func (c *counting) decided(e *Event) {
	for i, until := range c.quarantines {
		if i.process == e.Process && until > e.At {
			c.counts[quarantineRefused]++
			return
		}
	}
}

func (c *counting) acquired(e *Event) {
	if value := (keyed{e.Key, e.Change.Value}); value.value != "" {
		if c.values[value] {
			c.counts[leaseHandedOver]++
		}
		c.values[value] = true
	}
	c.holders[e.Lease] = e.Process
	c.backed(e)
}

func (c *counting) backed(e *Event) {
	if t := e.Truth; t != nil && t.Have < max(t.Quorum, t.Servers) {
		c.counts[overvalued]++
	}
}
