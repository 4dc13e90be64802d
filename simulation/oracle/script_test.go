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

// scripted is a client of a script. It has one lease.
type scripted struct {
	lease int
	token fencing.Token
	seen  uint64 // the version that it has read
	sent  uint64 // its request to the resource that is on the way, 0 if there is none
}

const scriptKey = "k"

// played returns the record of steps with commas between them. All clients want one key. A step is what a client does:
//
//	asks        requests the lock
//	gets T      gets it with the token T, 0 for none
//	looks       finds its lease valid
//	believes U  believes in its lease up to the time U, in milliseconds
//	sends       sends a request to the resource, which is executed later
//	reads, writes: the resource executes that request, or a new one
//	releases
//
// Or it is "time passes N".
func played(t *testing.T, steps string) (log record.Log) {
	clients := map[string]*scripted{}
	var now time.Duration
	var leases int
	var sent, version uint64
	for step := range strings.SplitSeq(steps, ", ") {
		var client, verb string
		var n int
		if read, _ := fmt.Sscan(step, &client, &verb, &n); read < 2 { // the number may be missing
			require.Fail(t, "no step", step)
		}
		c := clients[client]
		if c == nil {
			c = &scripted{}
			clients[client] = c
		}
		note := func(kind record.EventKind) *record.Event {
			e := log.Add(now, kind, client, "")
			e.Key, e.Lease, e.Token = scriptKey, c.lease, c.token
			return e
		}
		request := func(kind record.EventKind) *record.Event {
			e := note(kind)
			e.Place, e.N = fault.Resource, c.sent
			return e
		}
		if verb == "sends" || c.sent == 0 && (verb == "reads" || verb == "writes") {
			sent++
			c.sent = sent
			request(record.Sent)
		}
		switch verb {
		case "passes":
			now += time.Duration(n) * time.Millisecond
		case "asks":
			note(record.Asked)
		case "gets":
			leases++
			c.lease, c.token = leases, fencing.Token(n)
			note(record.Acquired)
		case "looks":
			note(record.Looked).Validity = 1
		case "believes":
			note(record.Believed).Truth = &record.Truth{Until: time.Duration(n) * time.Millisecond}
		case "sends":
		case "reads":
			e := request(record.Read)
			e.Version, c.seen, c.sent = version, version, 0
		case "writes":
			e := request(record.Write)
			version++
			e.Version, e.AsOf, c.sent = version, c.seen, 0
		case "releases":
			note(record.Released)
		default:
			require.Fail(t, "no step", step)
		}
	}
	return log
}
