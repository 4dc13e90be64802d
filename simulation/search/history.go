package search

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// Operations is a run's history for the second judge: locks from the moments at
// which clients asked for them, got them, and stopped believing in them; reads and
// writes from the moments at which requests were sent and answers heard. What was
// carried out but not answered is Unknown, what was refused is left out. An
// observer's Read of each resource comes at the end.
//
// How long a client believes in a lease is counted in true time. For a client whose
// clocks were tampered with (steps, rates, suspensions) that isn't known from
// outside: it counts as believing at the moments when it was told so, and when it
// sent something.
func Operations(r simulation.Result) ([]judge.Operation, error) {
	h := &historian{
		crooked: map[string]bool{}, calls: map[callID]*call{}, asked: map[asking]time.Duration{}, leases: map[int]*lease{}, acted: map[callID]bool{},
	}
	if err := h.readTrace(r.Trace); err != nil {
		return nil, err
	}
	for _, e := range r.History {
		if err := h.take(e); err != nil {
			return nil, err
		}
	}
	if len(h.effects) > 0 {
		return nil, fmt.Errorf("search: the trace has %d operations on the resource that the history doesn't have", len(h.effects))
	}
	return h.operations(r.Ended), nil
}

// historian puts together what the trace and the history say.
type historian struct {
	crooked map[string]bool // processes whose clocks were tampered with
	calls   map[callID]*call
	effects []effect // what the resource carried out, in order, of which no event was taken in yet

	asked  map[asking]time.Duration
	leases map[int]*lease // by their numbers

	acts   []judge.Operation
	acted  map[callID]bool
	finals []judge.Operation // of each key, an observer's read after the last effect
}

// callID names one request to the resource.
type callID struct {
	process string
	n       string
}

// asking is who asks for what: one goroutine asks for one thing at a time.
type asking struct {
	process   string
	goroutine int
	key       string
}

// call is when a request was sent and when its answer was heard.
type call struct {
	sent  time.Duration
	heard time.Duration
	ok    bool // it was heard
}

// effect is what the resource did for a request.
type effect struct {
	id      callID
	token   fencing.Token
	version uint64
	value   int64
}

// lease is a lease as its holder sees it.
type lease struct {
	process   string
	goroutine int
	key       string
	token     fencing.Token
	asked     time.Duration
	beliefs   []belief // one after the other, with gaps between them
	over      bool     // its holder gave it up
}

// belief is a time in which a holder believed in its lease without a break.
type belief struct{ from, until time.Duration }

// readTrace takes in the lines
//
//	1.234567 c1 suffers step
//	1.234567 c1 write resource#3
//	1.334567 resource write c1#3 token=4 version=5 value=6
//	1.434567 c1 hears resource#3
func (h *historian) readTrace(trace []byte) error {
	for line := range strings.Lines(string(trace)) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		at, ok := trueTime(words[0])
		if !ok {
			continue // the second line of something else
		}
		who, what, object := words[1], words[2], words[3]
		if what == "suffers" {
			switch simulation.Kind(object) {
			case simulation.Step, simulation.Rate, simulation.Suspend:
				h.crooked[who] = true
			}
			continue
		}
		place, n, isCall := strings.Cut(object, "#")
		switch {
		case !isCall:
		case who == simulation.Resource && slices.Contains(notSent, what):
		case who == simulation.Resource:
			if last := words[len(words)-1]; last == "refused" || last == "repeated" {
				continue // nothing was carried out
			}
			e := effect{id: callID{place, n}}
			if err := e.read(words[4:]); err != nil {
				return fmt.Errorf("search: %w in the line %q of the trace", err, strings.TrimSpace(line))
			}
			h.effects = append(h.effects, e)
		case place != simulation.Resource:
		case what == "hears":
			if c := h.calls[callID{who, n}]; c != nil {
				c.heard, c.ok = at, true
			}
		case !slices.Contains(notSent, what):
			h.calls[callID{who, n}] = &call{sent: at}
		}
	}
	return nil
}

// read reads what the resource had after the operation.
func (e *effect) read(words []string) error {
	found := 0
	for _, word := range words {
		name, number, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		switch name {
		case "version":
			e.version = uint64(n)
		case "value":
			e.value = n
		case "token":
			e.token = fencing.Token(n)
		default:
			continue
		}
		if err != nil {
			return err
		}
		found++
	}
	if found != 3 {
		return errors.New("no token, version and value")
	}
	return nil
}

// take takes in an entry of the history.
func (h *historian) take(e simulation.Event) error {
	switch e.What {
	case "asked":
		h.asked[asking{e.Process, e.Goroutine, e.Key}] = e.At
	case "acquired":
		l := &lease{process: e.Process, goroutine: e.Goroutine, key: e.Key, token: e.Token, asked: h.asked[asking{e.Process, e.Goroutine, e.Key}]}
		h.leases[e.Lease] = l
		h.told(l, e)
	case "extended", "looked":
		if l := h.leases[e.Lease]; l != nil && !l.over {
			h.told(l, e)
		}
	case "released", "handed off":
		if l := h.leases[e.Lease]; l != nil {
			l.end(e.At)
		}
	case "crashed":
		for _, l := range h.leases {
			if l.process == e.Process {
				l.end(e.At)
			}
		}
	case "read", "write":
		return h.act(e)
	}
	return nil
}

// client is what the judge calls the lease's holder: one that does one thing at a time.
func (l *lease) client() string { return simulation.Who(l.process, l.goroutine) }

// told takes in a validity: its holder believes on, or begins to believe anew.
func (h *historian) told(l *lease, e simulation.Event) {
	until := e.At
	if !h.crooked[l.process] {
		until += max(0, e.Validity)
	}
	last := len(l.beliefs) - 1
	switch {
	case last >= 0 && e.At <= l.beliefs[last].until:
		l.beliefs[last].until = until
	case last >= 0 && h.crooked[l.process] && e.Validity > 0:
		l.beliefs[last].until = until // it may well have believed all the time
	case last < 0 || e.Validity > 0:
		l.beliefs = append(l.beliefs, belief{e.At, until})
	}
}

// end is when the holder gives the lease up.
func (l *lease) end(at time.Duration) {
	if last := len(l.beliefs) - 1; !l.over {
		l.over = true
		l.beliefs[last].until = min(l.beliefs[last].until, max(at, l.beliefs[last].from))
	}
}

// act takes in what the resource carried out.
func (h *historian) act(e simulation.Event) error {
	if len(h.effects) == 0 {
		return fmt.Errorf("search: the history has a %s by %s at %v that the trace doesn't have", e.What, e.Process, e.At)
	}
	done := h.effects[0]
	h.effects = h.effects[1:]
	c := h.calls[done.id]
	if c == nil || done.id.process != e.Process {
		return fmt.Errorf("search: the history has a %s by %s at %v, where the trace has one by %s", e.What, e.Process, e.At, done.id.process)
	}
	l := h.leases[e.Lease]
	if l == nil {
		return fmt.Errorf("search: the history has a %s by %s at %v under lease %d, which nobody got", e.What, e.Process, e.At, e.Lease)
	}
	if c.sent > l.beliefs[len(l.beliefs)-1].until {
		// Whatever it believed in between: it acts as if it had held it all the time.
		l.beliefs = []belief{{l.beliefs[0].from, c.sent}}
	}
	h.observe(e.Key, done)
	if h.acted[done.id] {
		return nil // the same request once more, which its client knows nothing of
	}
	h.acted[done.id] = true
	o := judge.Operation{
		Client: l.client(), Key: e.Key, Kind: judge.Read, Call: c.sent, Return: c.heard, Outcome: judge.Done,
		Token: done.token, Version: done.version, Value: done.value,
	}
	if !c.ok {
		o.Outcome = judge.Unknown
	}
	if e.What == "write" {
		o.Kind = judge.Write
		if _, err := fmt.Sscanf(e.Words, "version %d value %d", &o.Version, &o.Value); err != nil {
			return fmt.Errorf("search: the history's write at %v says %q, want its version and value", e.At, e.Words)
		}
	}
	h.acts = append(h.acts, o)
	return nil
}

// observe notes the state of a resource.
func (h *historian) observe(key string, e effect) {
	i := slices.IndexFunc(h.finals, func(o judge.Operation) bool { return o.Key == key })
	if i < 0 {
		i = len(h.finals)
		h.finals = append(h.finals, judge.Operation{Client: "observer", Key: key, Kind: judge.Read, Outcome: judge.Done})
	}
	h.finals[i].Version, h.finals[i].Value = e.version, e.value
}

// operations is everything that was put together.
func (h *historian) operations(ended time.Duration) []judge.Operation {
	var all []judge.Operation
	for _, n := range slices.Sorted(maps.Keys(h.leases)) {
		l := h.leases[n]
		for i, b := range l.beliefs {
			lock := judge.Operation{Client: l.client(), Key: l.key, Kind: judge.Lock, Call: b.from, Return: b.from, Outcome: judge.Done}
			if i == 0 { // only then it got a token
				lock.Call, lock.Token = l.asked, l.token
			}
			unlock := judge.Operation{Client: l.client(), Key: l.key, Kind: judge.Unlock, Call: b.until, Return: b.until, Outcome: judge.Done}
			all = append(all, lock, unlock)
			ended = max(ended, b.until)
		}
	}
	all = append(all, h.acts...)
	for _, o := range h.acts {
		ended = max(ended, o.Call, o.Return)
	}
	for _, o := range h.finals {
		o.Call, o.Return = ended, ended
		all = append(all, o)
	}
	return all
}
