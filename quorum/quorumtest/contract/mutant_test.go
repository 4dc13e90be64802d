package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

type (
	Server    = quorumtest.Server
	Notifying = quorumtest.NotifyingServer

	before  = func(s *Server, cmd *wire.Request)
	after   = func(s *Server, cmd wire.Request, vote *wire.Vote)
	probing = func(id *wire.Identity)
)

// mutant is a server with one rule broken. Nil fields are correct.
type mutant struct {
	Notifying
	before before // changes a request
	after  after  // changes a vote, or what the request has left
	probe  probing
	known  func(known *wire.Known)
	send   func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver)
}

func (m mutant) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if m.send != nil {
		m.send(m.Server, cmd, timeout, to)
		return
	}
	wire.SendBlocking(nil, func(ctx context.Context, sent wire.Request) wire.Vote {
		if m.before != nil && ctx.Err() == nil {
			m.before(m.Server, &sent)
		}
		vote := m.Do(ctx, sent)
		if m.after != nil {
			m.after(m.Server, cmd, &vote)
		}
		return vote
	}, cmd, timeout, to)
}

func (m mutant) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	if m.known != nil {
		m.known(&known)
	}
	id, err := m.Notifying.Probe(ctx, known)
	if m.probe != nil && err == nil {
		m.probe(&id)
	}
	return id, err
}

// unnotified is an instance that is no Notifier, Putter or Restarter.
type unnotified struct{ wire.Instance }

// recorder is a tester that records the failure instead of failing.
type recorder struct {
	ctx    context.Context
	mu     sync.Mutex
	failed []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow()                 { runtime.Goexit() }
func (r *recorder) Skip(...any)              { runtime.Goexit() }
func (r *recorder) Context() context.Context { return r.ctx }

// fails runs a part against what open returns, in virtual time, and returns how it fails.
func fails(t *testing.T, p part, open func() wire.Instance) (failed string) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{ctx: t.Context()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c := newCheck()
			c.skew = 0
			c.part(p, r, open())
		}()
		<-done
		failed = strings.Join(r.failed, "\n")
	})
	return failed
}

func newServer() Notifying { return Notifying{Server: quorumtest.NewServer("a", nil)} }

func TestCheckFindsNothingWrong(t *testing.T) {
	for _, open := range []func() wire.Instance{
		func() wire.Instance { return quorumtest.NewServer("a", nil) },
		func() wire.Instance { return newServer() },
		func() wire.Instance { return mutant{Notifying: newServer()} },
		func() wire.Instance { return unnotified{newServer()} },
	} {
		for _, p := range parts {
			assert.Empty(t, fails(t, p, open))
		}
	}
}

// on is about the votes on an operation with an outcome.
func on(op wire.Op, outcome wire.Outcome, f after) mutant {
	return mutant{after: func(s *Server, cmd wire.Request, vote *wire.Vote) {
		if cmd.Op == op && vote.Outcome == outcome && !errors.Is(vote.Err, context.DeadlineExceeded) {
			f(s, cmd, vote)
		}
	}}
}

func granted(op wire.Op, f after) mutant { return on(op, wire.Granted, f) }
func refused(op wire.Op, f after) mutant { return on(op, wire.Refused, f) }

// grants grants what it should refuse.
func grants(op wire.Op, f before) mutant {
	return refused(op, func(s *Server, cmd wire.Request, vote *wire.Vote) {
		f(s, &cmd)
		*vote = wire.Vote{Outcome: wire.Granted, Keys: uint8(keysGranted(cmd)), Clock: vote.Clock}
		if op == wire.Acquire {
			vote.Token = s.Counter(cmd.Keys[0])
		}
	})
}

func keysGranted(cmd wire.Request) int {
	if len(cmd.Keys) == 1 {
		return 0
	}
	return len(cmd.Keys)
}

// instead sends another request.
func instead(op wire.Op, f before) mutant {
	return mutant{before: func(s *Server, cmd *wire.Request) {
		if cmd.Op == op {
			f(s, cmd)
		}
	}}
}

// texts changes every key.
func texts(f func(string) string) mutant {
	return mutant{before: func(_ *Server, cmd *wire.Request) {
		cmd.Keys = slices.Clone(cmd.Keys)
		for i, key := range cmd.Keys {
			cmd.Keys[i] = f(key)
		}
	}}
}

func count(s *Server, key string, token fencing.Token) { s.PutCounter(key, token) }
func clockOf(s *Server) fencing.Token                  { return fencing.Token(s.Clock().UnixMicro()) }
func last(cmd wire.Request) string                     { return cmd.Keys[len(cmd.Keys)-1] }
func value(s *Server, key string) string               { value, _, _ := s.Get(key); return value }

// remakes has an operation make the counters anew, with the expiry of this request alone.
func remakes(op wire.Op) mutant {
	return instead(op, func(s *Server, cmd *wire.Request) {
		for _, key := range cmd.Keys {
			s.DeleteCounter(key)
		}
	})
}

func free(s *Server, key string) bool { _, _, held := s.Get(key); return !held }
func nothing(*Server, *wire.Request)  {}
func counting(f func(n int64, id *wire.Identity)) probing {
	var n atomic.Int64
	return func(id *wire.Identity) { f(n.Add(1), id) }
}

// broken has for each part the mutants that it must find, after the part by what they are about.
var broken = map[string]map[string]mutant{
	"histories: acquire": {
		"only the first of several keys is known": {before: func(_ *Server, cmd *wire.Request) { cmd.Keys = cmd.Keys[:min(1, len(cmd.Keys))] }},
		"several keys are counted as one":         granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Keys = 0 }),
		"the token isn't the counter":             granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Token++ }),
		"a held key is granted to its own value": refused(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if value(s, cmd.Keys[0]) == cmd.Value {
				*vote = wire.Vote{Outcome: wire.Granted, Token: s.Counter(cmd.Keys[0]), Clock: vote.Clock}
			}
		}),
		"a refusal sets": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Keys[0], cmd.Value, cmd.TTL) }),
		"a refusal prolongs": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			s.Put(cmd.Keys[0], value(s, cmd.Keys[0]), cmd.TTL+time.Second)
		}),
		"a refused try doesn't count": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if cmd.Fence.On {
				count(s, last(cmd), s.Counter(last(cmd))-1)
			}
		}),
		"a refusal has a token":   refused(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) { vote.Token = s.Counter(cmd.Keys[0]) }),
		"what is left isn't told": refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Remaining = 0 }),
		"the holder isn't told":   refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Holder = "" }),
		"tokens don't rise": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if n := s.Counter(cmd.Keys[0]); n > 1 {
				count(s, cmd.Keys[0], n-1)
			}
		}),
		"counters start anywhere": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if cmd.Fence.On && s.Counter(cmd.Keys[0]) == 0 {
				count(s, cmd.Keys[0], 1000)
			}
		}),
		"a waiter is said to be notified": granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Notified = true }),
	},
	"histories: acquire without fence": {
		"it counts": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { *cmd = fenced(*cmd, 0) }),
	},
	"histories: low counters": {
		"none is":                granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Low = false }),
		"each is":                granted(wire.Acquire, func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Low = cmd.Fence.On }),
		"no floor counts":        instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Floor = 1 }),
		"any is below the floor": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Floor = fencing.MaxToken }),
		"the vote isn't above the clock": granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) {
			if vote.Low {
				vote.Token--
			}
		}),
		"the request's token isn't used": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if vote.Low && vote.Token == cmd.Fence.Token {
				vote.Token = clockOf(s) + 1
			}
		}),
		"they are lifted at once": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if vote.Low {
				count(s, cmd.Keys[0], vote.Token)
			}
		}),
	},
	"histories: delete": {
		"nothing is deleted":           instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Delete = nil }),
		"the first value only":         instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Delete = cmd.Delete[:min(1, len(cmd.Delete))] }),
		"it isn't told":                {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Replaced = false }},
		"it is told of free keys, too": granted(wire.Acquire, func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Replaced = len(cmd.Delete) > 0 }),
		"it is told of refusals, too":  refused(wire.Acquire, func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Replaced = len(cmd.Delete) > 0 }),
		"whatever is there is deleted": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if held := value(s, cmd.Keys[0]); len(cmd.Delete) > 0 && held != cmd.Value && held != "" {
				cmd.Delete = []string{held}
			}
		}),
	},
	"histories: raise": {
		"without the holder": grants(wire.Raise, nothing),
		"refused but done": refused(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			count(s, cmd.Keys[0], max(cmd.Fence.Token, s.Counter(cmd.Keys[0])))
		}),
		"lowers": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, last(cmd), cmd.Fence.Token) }),
		"compares text": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if s.Counter(cmd.Keys[0]).String() < cmd.Fence.Token.String() {
				count(s, cmd.Keys[0], cmd.Fence.Token)
			}
		}),
		"sets the key, too": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Keys[0], cmd.Value, 2*long) }),
	},
	"histories: extend": {
		"revives": grants(wire.Extend, func(s *Server, cmd *wire.Request) { s.Put(cmd.Keys[0], cmd.Value, cmd.TTL) }),
		"extends another's": refused(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if !free(s, cmd.Keys[0]) {
				s.Put(cmd.Keys[0], value(s, cmd.Keys[0]), cmd.TTL)
			}
		}),
		"never shortens":           granted(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, max(cmd.TTL, long)) }),
		"takes the expiry away":    granted(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, wire.NoExpiry) }),
		"tells more than is asked": granted(wire.Extend, func(s *Server, cmd wire.Request, vote *wire.Vote) { vote.Token = s.Counter(cmd.Keys[0]) }),
	},
	"histories: restore": {
		"overwrites others":                 grants(wire.Restore, func(s *Server, cmd *wire.Request) { s.Put(cmd.Keys[0], cmd.Value, cmd.TTL) }),
		"refused but counts":                refused(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], cmd.Fence.Token) }),
		"doesn't count":                     instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.On = false }),
		"lowers the counter":                granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], cmd.Fence.Token) }),
		"shortens":                          granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, cmd.TTL) }),
		"leaves the rest with its old time": granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Keys[0], cmd.Value, long) }),
	},
	"histories: pass": {
		"without the holder":            grants(wire.Pass, func(s *Server, cmd *wire.Request) { s.Put(cmd.Keys[0], cmd.Value, cmd.TTL) }),
		"doesn't count":                 instead(wire.Pass, func(_ *Server, cmd *wire.Request) { cmd.Fence.On = false }),
		"lowers the counter":            granted(wire.Pass, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], cmd.Fence.Token) }),
		"keeps the longer of the times": granted(wire.Pass, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, max(cmd.TTL, 5*long)) }),
	},
	"histories: release": {
		"forgets the counter":   granted(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.DeleteCounter(cmd.Keys[0]) }),
		"without compare":       refused(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Delete(cmd.Keys[0]) }),
		"of nothing is granted": grants(wire.Release, nothing),
		"refused for a reason":  refused(wire.Release, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Err = errors.ErrUnsupported }),
		"compares a prefix": refused(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if strings.HasPrefix(value(s, cmd.Keys[0]), cmd.Value) {
				s.Delete(cmd.Keys[0])
			}
		}),
	},
	"histories: look changes nothing": {
		"cleans up": {after: func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if cmd.Op == wire.Look {
				s.Delete(cmd.Keys[0])
			}
		}},
		"makes a counter": granted(wire.Look, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], max(1, s.Counter(cmd.Keys[0]))) }),
	},
	"histories: keys without expiry": {
		"that looks like not told": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Remaining = max(0, vote.Remaining) }},
	},
	"histories: some of several keys": {
		"a raise goes on where one is lost":     refused(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], cmd.Fence.Token) }),
		"an extension counts where one is lost": grants(wire.Extend, nothing),
		"an extension goes on where one is lost": refused(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if value(s, cmd.Keys[0]) == cmd.Value {
				s.Put(cmd.Keys[0], cmd.Value, cmd.TTL)
			}
		}),
		"a release counts where one is lost": grants(wire.Release, nothing),
		"a release needs all": instead(wire.Release, func(s *Server, cmd *wire.Request) {
			if !slices.ContainsFunc(cmd.Keys[1:], func(key string) bool { return value(s, key) != cmd.Value }) {
				return
			}
			cmd.Value += " another's"
		}),
		"a deletion takes a held one, too": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if len(cmd.Delete) > 0 && len(cmd.Keys) > 1 {
				s.Delete(cmd.Keys[1])
			}
		}),
		"one of them is enough to be told": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			vote.Replaced = vote.Replaced || len(cmd.Keys) > 1 && len(cmd.Delete) > 0
		}),
	},
	"histories: all keys or none": {
		"the key in the way isn't told": refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.InTheWay = min(vote.InTheWay, 1) }),
		"the free ones stay set": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			for _, key := range cmd.Keys[1:] {
				if value(s, key) == "" {
					s.Put(key, cmd.Value, cmd.TTL)
				}
			}
		}),
	},
	"histories: the largest token of several keys": {
		"it is the first one's": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if cmd.Fence.On && !vote.Low || len(cmd.Keys) > 1 && cmd.Fence.On {
				vote.Token = s.Counter(cmd.Keys[0])
			}
		}),
		"counters that differ aren't low": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if slices.ContainsFunc(cmd.Keys, func(key string) bool { return s.Counter(key) == vote.Token }) {
				vote.Low = false
			}
		}),
	},
	"histories: tokens are exact to the last": {
		"they are floating point": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			count(s, cmd.Keys[0], fencing.Token(math.Round(float64(s.Counter(cmd.Keys[0]))/100)*100))
		}),
	},
	"histories: how far counters go ahead": {
		"acquire counts without a bound": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"raise lifts without a bound":    instead(wire.Raise, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"restore lifts without a bound":  instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"an acquisition takes its key back": on(wire.Acquire, wire.Failed, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if errors.Is(vote.Err, wire.ErrCounter) {
				s.Delete(cmd.Keys[0])
			}
		}),
		"an acquisition says that it has set nothing": on(wire.Acquire, wire.Failed, func(_ *Server, _ wire.Request, vote *wire.Vote) {
			vote.Unsent = errors.Is(vote.Err, wire.ErrCounter)
		}),
		"restore sets the key all the same": on(wire.Restore, wire.Failed, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Keys[0], cmd.Value, cmd.TTL) }),
		"raise raises all the same":         on(wire.Raise, wire.Failed, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Keys[0], cmd.Fence.Token) }),
	},
	"histories: where counters start": {
		"from the clock alone": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Token = 0 }),
	},
	"histories: another run": {
		"runs are not compared": {before: func(s *Server, cmd *wire.Request) {
			if cmd.Run != "" {
				cmd.Run = s.PresentRun()
			}
		}},
		"epochs are not compared": {before: func(_ *Server, cmd *wire.Request) { cmd.Run = wire.Run(cmd.Run.ReplID()) }},
		"sets are not compared": {before: func(s *Server, cmd *wire.Request) {
			if cmd.Run.Epoch() != "" {
				cmd.Run = wire.MarkOf(cmd.Run.ReplID(), cmd.Run.Epoch(), s.PresentRun().Set())
			}
		}},
		"an acquisition says that it has set nothing": on(wire.Acquire, wire.Failed, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Unsent = true }),
		"an extension extends all the same": on(wire.Extend, wire.Failed, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if value(s, cmd.Keys[0]) == cmd.Value {
				s.Put(cmd.Keys[0], cmd.Value, cmd.TTL)
			}
		}),
		"a raise raises all the same": on(wire.Raise, wire.Failed, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if errors.Is(vote.Err, wire.ErrOtherRun) {
				count(s, cmd.Keys[0], max(s.Counter(cmd.Keys[0]), cmd.Fence.Token))
			}
		}),
		"the run that was found isn't told": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) {
			if other, is := errors.AsType[*wire.RunError](vote.Err); is {
				vote.Err = &wire.RunError{Asked: other.Asked, Role: other.Role}
			}
		}},
	},
	"histories: keys and values": {
		"keys in lower case":       texts(strings.ToLower),
		"keys are trimmed":         texts(strings.TrimSpace),
		"keys are cut at the line": texts(func(key string) string { line, _, _ := strings.Cut(key, "\n"); return line }),
		"values become UTF-8":      {before: func(_ *Server, cmd *wire.Request) { cmd.Value = strings.ToValidUTF8(cmd.Value, "?") }},
	},
	"ttl": {
		"in whole seconds": {before: func(_ *Server, cmd *wire.Request) {
			if cmd.TTL > 0 {
				cmd.TTL = max(time.Second, cmd.TTL.Truncate(time.Second))
			}
		}},
		"cut by a tenth": {before: func(_ *Server, cmd *wire.Request) {
			if cmd.TTL > 10*time.Millisecond {
				cmd.TTL -= (cmd.TTL / 10).Truncate(time.Millisecond)
			}
		}},
	},
	"counters expire": {
		"they live forever":            {before: func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL *= 1_000_000 }},
		"they expire too early":        {before: func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL /= 2 }},
		"raise doesn't prolong them":   instead(wire.Raise, func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL = min(cmd.Fence.TTL, time.Millisecond) }),
		"restore doesn't prolong them": instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL = min(cmd.Fence.TTL, time.Millisecond) }),
		"raise shortens":               remakes(wire.Raise),
		"restore shortens":             remakes(wire.Restore),
		"acquire shortens":             remakes(wire.Acquire),
	},
	"histories: clock": {
		"isn't told when refused": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) {
			if vote.Outcome == wire.Refused {
				vote.Clock = time.Time{}
			}
		}},
		"in seconds": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) {
			if !vote.Clock.IsZero() {
				vote.Clock = vote.Clock.Add(500 * time.Millisecond).Truncate(time.Second).Add(-time.Second)
			}
		}},
		"told without a request": {before: func(_ *Server, cmd *wire.Request) { cmd.Clock = true }},
	},
	"send: many at once": {
		"acquire isn't atomic": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if free(s, cmd.Keys[0]) {
				time.Sleep(time.Microsecond)
				s.Delete(cmd.Keys[0])
			}
		}),
	},
	"tokens of many cycles": {
		"the counter isn't atomic": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if token := s.Counter(cmd.Keys[0]); token > 0 {
				time.Sleep(time.Duration(token%7) * 50 * time.Microsecond)
				count(s, cmd.Keys[0], token)
			}
		}),
	},
	"send: many at once: votes": {
		"votes twice": {send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			s.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
				to.Receive(vote)
				if cmd.Op == wire.Acquire && vote.Outcome == wire.Refused {
					to.Receive(vote)
				}
			}))
		}},
	},
	"send: a timeout": {
		"says unsent of what it sent": {send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			s.Send(cmd, patience, wire.ReceiverFunc(func(vote wire.Vote) {
				if timeout < time.Millisecond {
					vote = wire.Vote{Unsent: true, Err: context.DeadlineExceeded}
				}
				to.Receive(vote)
			}))
		}},
		"calls it something else": {send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			if timeout < time.Millisecond {
				to.Receive(wire.Vote{Unsent: true, Err: errors.ErrUnsupported})
				return
			}
			s.Send(cmd, timeout, to)
		}},
	},
	"the wait queue": {
		"the front is the end":         {before: func(_ *Server, cmd *wire.Request) { cmd.Waiter.Front = false }},
		"a free key has one":           {before: func(_ *Server, cmd *wire.Request) { cmd.Waiter.Yield = true }},
		"says that it notified nobody": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Notified = false }},
		"claims a notification":        {after: func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Notified = cmd.Notify }},
	},
	"the wait queue: notifications": {
		"yields to nobody": {before: func(_ *Server, cmd *wire.Request) { cmd.Waiter.Yield = false }},
		"always notifies":  instead(wire.Release, func(_ *Server, cmd *wire.Request) { cmd.Notify = true }),
	},
	"closed subscriptions are passed over": {
		"notifies nobody": {before: func(_ *Server, cmd *wire.Request) { cmd.Notify = false }},
	},
	"probe": {
		"run id changes":               {probe: counting(func(n int64, id *wire.Identity) { id.RunID = fmt.Sprint(n) })},
		"each probe leaves a mark":     {probe: func(id *wire.Identity) { id.Served = 0 }},
		"every probe is another epoch": {probe: counting(func(n int64, id *wire.Identity) { id.Mark = wire.MarkOf(id.Mark.ReplID(), fmt.Sprint(n), "") })},
		"hides without a word":         {probe: func(id *wire.Identity) { id.Eviction = "" }},
	},
	"mark": {
		"is never renewed": {probe: func(id *wire.Identity) { id.Mark = wire.MarkOf(id.Mark.ReplID(), "1", "") }},
	},
	"mark: set": {
		"isn't kept":           {known: func(known *wire.Known) { known.Set = wire.Set{} }},
		"versions are rounded": {known: func(known *wire.Known) { known.Set.Version = uint64(float64(known.Set.Version)) }},
		"begins a new run": {known: func(known *wire.Known) {
			if known.Set != (wire.Set{}) {
				known.RunID, known.Epoch, known.Voter = "another", "1", "another"
			}
		}},
		"a client of an old one is let in": {known: func(known *wire.Known) {
			if known.Set.N > 0 {
				known.Set.Version += 1 << 60
			}
		}},
		"isn't told": {probe: func(id *wire.Identity) { id.Mark = wire.MarkOf(id.Mark.ReplID(), id.Epoch(), "") }},
	},
	"restart": {
		"run id stays":         {probe: func(id *wire.Identity) { id.RunID = "constant" }},
		"replication id stays": {probe: func(id *wire.Identity) { id.ReplID = "constant" }},
		"the mark outlives it": {probe: func(id *wire.Identity) { id.Served += time.Hour }},
		"vouches after it":     {probe: func(id *wire.Identity) { id.Vouched = true }},
	},
}

func TestCheckFindsMutants(t *testing.T) {
	if raced {
		t.Skip("mutants have no goroutines of their own, and the check is raced on the right server")
	}
	for about, mutants := range broken {
		i := slices.IndexFunc(parts, func(p part) bool { return about == p.name || strings.HasPrefix(about, p.name+": ") })
		require.GreaterOrEqual(t, i, 0, about)
		for name, m := range mutants {
			t.Run(about+"/"+name, func(t *testing.T) {
				assert.NotEmpty(t, fails(t, parts[i], func() wire.Instance {
					m.Notifying = newServer()
					return m
				}))
			})
		}
	}
}
