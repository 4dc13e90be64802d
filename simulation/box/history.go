package box

import (
	"fmt"
	"time"
)

// What is written to a history.
const (
	wasAsked    = "asked"    // a client is about to ask for the lock
	wasAcquired = "acquired" // it has the lock
	wasDenied   = "denied"   // it does not get the lock
	wasValid    = "valid"    // it has found its lease valid
	wasOver     = "over"     // it has found its lease over, or told that it is lost
	wasReleased = "released" // it is about to release
	wasRead     = "read"     // the resource executed a read
	wasWritten  = "written"  // the resource executed a write
	wasStale    = "refused"  // the resource refused a write because of its token
	wasFault    = "fault"    // a step that isn't a client's
	wasSaid     = "said"     // another answer of a client
)

// Entry is a line of a history.
type Entry struct {
	// Seq counts the entries from 1. An action ended before any entry with a larger number was
	// written.
	Seq int `json:"seq"`
	// Began is the number of entries at its beginning. Actions up to that number had ended
	// before.
	Began  int    `json:"began,omitempty"`
	Client string `json:"client,omitempty"`
	// Lease counts the client's leases, from 1.
	Lease int    `json:"lease,omitempty"`
	What  string `json:"what"`
	Token uint64 `json:"token,omitempty"`
	// Version counts the writes before this one, as its writer read it. Found is the actual
	// number.
	Version int `json:"version,omitempty"`
	Found   int `json:"found,omitempty"`
	// Words has details.
	Words string `json:"words,omitempty"`
	// At is when it was written, from the play's beginning. Nothing is concluded from it.
	At time.Duration `json:"at_ns"`
}

// holding is one lease in a history.
type holding struct {
	client     string
	token      uint64
	asked, got int // entries: the last before the request, and the grant
}

func (h *holding) String() string {
	if h.token == 0 {
		return h.client
	}
	return fmt.Sprintf("%s (token %d)", h.client, h.token)
}

// later reports whether h is a later lease than o: by tokens, else by the order of the grants.
func (h *holding) later(o *holding) bool {
	if h == nil {
		return false
	}
	if h.token != 0 && o.token != 0 {
		return h.token > o.token
	}
	return h.got > o.got
}

// checker derives the findings of a history that follow from its order.
type checker struct {
	holdings []*holding // in the order of grants
	places   map[leaseName]int
	latest   *holding // the latest lease whose read or write was executed
	findings []Finding
}

type leaseName struct {
	client string
	lease  int
}

// findingsIn returns a history's findings.
func findingsIn(history []Entry) []Finding {
	c := checker{places: map[leaseName]int{}}
	for _, e := range history {
		c.take(e)
	}
	return c.findings
}

func (c *checker) found(e Entry, kind Kind, format string, args ...any) {
	c.findings = append(c.findings, Finding{Kind: kind, Seq: e.Seq, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) take(e Entry) {
	if e.What == wasAcquired {
		c.acquired(e)
		return
	}
	place, ok := c.places[leaseName{e.Client, e.Lease}]
	if !ok {
		return
	}
	h := c.holdings[place]
	switch e.What {
	case wasValid:
		if next := place + 1; next < len(c.holdings) && c.holdings[next].got <= e.Began {
			text := "%v found its lease valid after %v had got the lock"
			if c.holdings[next].asked < h.got {
				text = "%v found its lease valid after %v, which had asked for it earlier, had got the lock, too"
			}
			c.found(e, TwoHolders, text, h, c.holdings[next])
		}
	case wasRead, wasWritten:
		c.used(e, h)
	}
}

func (c *checker) acquired(e Entry) {
	h := &holding{client: e.Client, token: e.Token, asked: e.Began, got: e.Seq}
	for _, o := range c.holdings {
		switch {
		case h.token == 0 || o.token < h.token:
		case o.token == h.token:
			c.found(e, TokenOrder, "%v and %v have the same token", o, h)
		case o.got <= h.asked:
			c.found(e, TokenOrder, "%v got the lock after %v with a smaller token", h, o)
		}
	}
	c.places[leaseName{e.Client, e.Lease}] = len(c.holdings)
	c.holdings = append(c.holdings, h)
}

// used takes a read or a write.
func (c *checker) used(e Entry, h *holding) {
	if e.What == wasWritten {
		if c.latest.later(h) {
			c.found(e, StaleWrite, "%v wrote after %v had used the resource", h, c.latest)
		}
		if e.Version != e.Found {
			c.found(e, LostUpdate, "%v wrote as of version %d over version %d", h, e.Version, e.Found)
		}
	}
	if !c.latest.later(h) {
		c.latest = h
	}
}
