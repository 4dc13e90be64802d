package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// script writes a record by hand. Each client has one lease on the same key, and a time is in milliseconds.
type script struct {
	log     record.Log
	now     time.Duration
	clients map[string]*scripted
	leases  int
	sent    uint64
	version uint64 // the resource's
}

// scripted is a client of a script.
type scripted struct {
	lease int
	token fencing.Token
	seen  uint64 // the version that it has read
	sent  uint64 // its request that is on the way, 0 if there is none
}

const scriptKey = "k"

// played returns the record of steps with commas between them, see do.
func played(t *testing.T, steps string) record.Log {
	s := &script{clients: map[string]*scripted{}}
	for step := range strings.SplitSeq(steps, ", ") {
		var client, verb string
		var n, until int
		_, err := fmt.Sscan(step, &client, &verb)
		require.NoError(t, err, step)
		_, _ = fmt.Sscan(strings.TrimPrefix(step, client+" "+verb), &n, &until) // either may be missing
		s.do(client, verb, n, until)
	}
	return s.log
}

// do adds what a client does:
//
//	asks      requests the lock
//	gets T U  gets it with the token T, 0 for none, and believes in it up to the time U if that isn't 0
//	looks     finds its lease valid
//	believes U
//	sends     sends a request to the resource, which is executed later
//	reads, writes: the resource executes that request, or a new one
//	releases
//
// "time passes N" isn't a client's.
func (s *script) do(client, verb string, n, until int) {
	if verb == "passes" {
		s.now += time.Duration(n) * time.Millisecond
		return
	}
	c := s.clients[client]
	if c == nil {
		c = &scripted{}
		s.clients[client] = c
	}
	note := func(kind record.EventKind) *record.Event {
		e := s.log.Add(s.now, kind, client, "")
		e.Key, e.Lease, e.Token = scriptKey, c.lease, c.token
		return e
	}
	believes := func(e *record.Event, until int) {
		if until > 0 {
			e.Truth = &record.Truth{Until: time.Duration(until) * time.Millisecond}
		}
	}
	sends := func() {
		s.sent++
		c.sent = s.sent
		e := note(record.Sent)
		e.Place, e.N = fault.Resource, c.sent
	}
	executes := func(kind record.EventKind) *record.Event {
		if c.sent == 0 {
			sends()
		}
		e := note(kind)
		e.Place, e.N = fault.Resource, c.sent
		c.sent = 0
		return e
	}
	switch verb {
	case "asks":
		note(record.Asked)
	case "gets":
		s.leases++
		c.lease, c.token = s.leases, fencing.Token(n)
		believes(note(record.Acquired), until)
	case "looks":
		note(record.Looked).Validity = 1
	case "believes":
		believes(note(record.Believed), n)
	case "sends":
		sends()
	case "reads":
		e := executes(record.Read)
		e.Version, c.seen = s.version, s.version
	case "writes":
		e := executes(record.Write)
		s.version++
		e.Version, e.AsOf = s.version, c.seen
	case "releases":
		note(record.Released)
	default:
		panic("no such step: " + verb)
	}
}
