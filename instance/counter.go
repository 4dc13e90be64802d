package instance

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// tokenOf is the token of a grant: the largest that a grant of any of its keys alone would get. It is low
// if a counter has yet to be raised to it.
func tokenOf(slots []*slot, f *wire.Fence, clock time.Time) (token fencing.Token, low bool, err *wire.CounterError) {
	now := fencing.Token(clock.UnixMicro())
	most := min(now+fencing.Token(f.Ahead.Microseconds()), fencing.MaxToken)
	for _, s := range slots {
		n := fencing.Token(max(s.n, 0)) // somebody may have written a negative one, which is low
		//guard:older-counter-is-low  a counter that may be from an earlier run is lifted above the clock before it counts
		//guard:new-counter-is-low  a counter that starts again, but not above the clock, is lifted above it before it counts
		if (n <= f.Floor || s.made) && n <= now || s.made && s.expires != "PXAT" {
			n, low = max(n, now+1), true
			if f.Token > n && f.Token <= most {
				n = f.Token
			}
		}
		//guard:above-each-counter  the token of a lease on several keys is above the counter of each
		token = max(token, n)
	}
	for _, s := range slots {
		low = low || s.n < int64(token)
	}
	if token > most {
		return 0, false, &wire.CounterError{Token: token, Clock: clock, Most: f.Ahead}
	}
	return token, low, nil
}

// why is the error of a slot's command that failed, in a transaction that was carried out.
func (s *slot) why(req *wire.Request, prefix string) error {
	wrong := func(text string) bool { return strings.Contains(s.failure, text) }
	if s.ofCounter && (strings.HasPrefix(s.failure, "WRONGTYPE") || wrong("not an integer") || wrong("overflow")) {
		return noToken(string(s.counter.b), s.failure, &wire.Request{Fence: req.Fence})
	}
	return moving(serverError(s.failure), prefix)
}

// counterError reads the error of a counter with a token. It returns nil for other ones.
func counterError(text string, f *wire.Fence) *wire.CounterError {
	// Numbers up to 2^53 are exact here, and larger ones are no tokens.
	var token, clock uint64
	if _, err := fmt.Sscanf(text, badCounter+" %d %d", &token, &clock); err != nil {
		return nil
	}
	return &wire.CounterError{
		Token: fencing.Token(token), Clock: time.UnixMicro(int64(clock)), Most: f.Ahead,
		Repair: "set the clock of this server right, and those of the others",
	}
}

// orAnother says that it may be another key of a request for several.
func orAnother(req *wire.Request) string {
	if len(req.Keys) < 2 {
		return ""
	}
	return ", or another key of the lease"
}

// noToken is the error of a counter that is none. What it is follows from the server's words.
func noToken(counter, said string, req *wire.Request) error {
	return fmt.Errorf("%w: %q%s holds no token (%s); find out what wrote it; %s", wire.ErrCounter, counter, orAnother(req), said, whenToDelete(req))
}

// whenToDelete is MaxTTL, as for every lost counter: see quorum/internal/settlement. A Look doesn't know it.
func whenToDelete(req *wire.Request) string {
	after := "MaxTTL"
	if req.Fence.Ahead > 0 {
		after += fmt.Sprintf(" (%v)", 2*req.Fence.Ahead)
	}
	return "when nobody has held the lock for " + after + ", and no sooner, or tokens may fall, delete it on this server"
}

// repair is what to do about a counter that is too far ahead of the clock.
func repair(clock time.Time, prefix string, req *wire.Request) string {
	switch command := fmt.Sprintf("redis-cli, at its prompt: DEL %q", prefix+CounterKey(req.Keys[0])); {
	case clock.UnixMicro() >= int64(fencing.MaxToken):
		return "set its clock right"
	case len(req.Keys) > 1, len(command) > maxRepeated:
		return "if its clock is right, somebody else wrote the counter {key}:redlock of one of the lease's keys; find it with redis-cli GET; " + whenToDelete(req)
	default:
		return "if its clock is right, somebody else wrote the counter; " + whenToDelete(req) + " with " + command
	}
}
