package record

import (
	"strings"
	"time"
)

// Counts counts the situations that the checks look for. That a check found nothing proves
// little if its situation never occurred.
func (l Log) Counts() map[string]int {
	c := counting{
		counts: make(map[string]int, 32), until: map[int]time.Duration{}, holders: map[int]string{},
	}
	for e := range l.All() {
		if what := kinds[e.Kind].counter; what != "" {
			c.counts[what]++
		}
		c.take(e)
	}
	return c.counts
}

// counting counts one log.
type counting struct {
	counts  map[string]int
	until   map[int]time.Duration // by lease: how long its holder believes in it
	holders map[int]string        // by lease: its process
}

func (c *counting) take(e *Event) {
	if e.Truth != nil && e.Lease != 0 {
		c.until[e.Lease] = e.Truth.Until
	}
	switch e.Kind {
	case Counted:
		c.counts[e.Words]++
	case Voted:
		if !strings.HasPrefix(e.Words, "failed") { // what failed is counted for what it is
			c.counts[e.Op+" "+e.Words]++
		}
	case Acquired:
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

func (c *counting) acquired(e *Event) {
	c.holders[e.Lease] = e.Process
	c.backed(e)
}

func (c *counting) backed(e *Event) {
	if t := e.Truth; t != nil && t.Have < max(t.Quorum, t.Servers) {
		c.counts[overvalued]++
	}
}
