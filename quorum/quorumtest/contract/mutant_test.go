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
	waiter func(w *wire.Waiter)
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
	id, err := m.Notifying.Probe(ctx, known)
	if m.probe != nil && err == nil {
		m.probe(&id)
	}
	return id, err
}

func (m mutant) Enqueue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	if m.waiter != nil {
		m.waiter(&w)
	}
	m.Notifying.Enqueue(w, timeout, to)
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
			newCheck(Skew(0)).part(p, r, open())
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
		if cmd.Op == op && vote.Outcome == outcome && vote.Unsent == (outcome == wire.Failed && op != wire.Raise) {
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
			vote.Token = s.Counter(cmd.Key)
		}
	})
}

func keysGranted(cmd wire.Request) int {
	if len(cmd.Also) == 0 {
		return 0
	}
	return 1 + len(cmd.Also)
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
		cmd.Key, cmd.Also = f(cmd.Key), slices.Clone(cmd.Also)
		for i := range cmd.Also {
			cmd.Also[i] = f(cmd.Also[i])
		}
	}}
}

func count(s *Server, key string, token fencing.Token) { s.PutCounter(key, token, s.Record(key).Set) }
func last(cmd wire.Request) string                     { return keysOf(cmd)[len(cmd.Also)] }
func value(s *Server, key string) string               { value, _, _ := s.Get(key); return value }
func free(s *Server, key string) bool                  { _, _, held := s.Get(key); return !held }
func nothing(*Server, *wire.Request)                   {}
func counting(f func(n int64, id *wire.Identity)) probing {
	var n atomic.Int64
	return func(id *wire.Identity) { f(n.Add(1), id) }
}

// broken has for each part the mutants that it must find, those of the histories by what they are about.
var broken = map[string]map[string]mutant{
	"histories: acquire": {
		"only the first of several keys is known": {before: func(_ *Server, cmd *wire.Request) { cmd.Also = nil }},
		"several keys are counted as one":         granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Keys = 0 }),
		"the counters differ":                     granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) { count(s, last(cmd), vote.Token-1) }),
		"the token isn't the counter":             granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Token++ }),
		"a held key is granted to its own value": refused(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if vote.Err == nil && value(s, cmd.Key) == cmd.Value {
				*vote = wire.Vote{Outcome: wire.Granted, Token: s.Counter(cmd.Key), Clock: vote.Clock}
			}
		}),
		"a refusal sets": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Key, cmd.Value, cmd.TTL) }),
		"a refusal prolongs": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			s.Put(cmd.Key, value(s, cmd.Key), cmd.TTL+time.Second)
		}),
		"a refusal counts": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if cmd.Fence.On {
				count(s, last(cmd), s.Counter(last(cmd))+1)
			}
		}),
		"what is left isn't told": refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Remaining = 0 }),
		"the holder isn't told":   refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Holder = "" }),
		"tokens don't rise":       instead(wire.Acquire, func(s *Server, cmd *wire.Request) { count(s, cmd.Key, max(1, s.Counter(cmd.Key))-1) }),
		"counters start from 0": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if s.Counter(cmd.Key) == 0 {
				s.PutCounter(cmd.Key, 0, "")
			}
		}),
		"a waiter is said to be notified": granted(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Notified = true }),
	},
	"histories: acquire without fence": {
		"it counts": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { *cmd = fenced(*cmd, 0) }),
	},
	"histories: replace": {
		"nothing is replaced":          instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Replace = "" }),
		"it isn't told":                {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Replaced = false }},
		"it is told of free keys, too": granted(wire.Acquire, func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Replaced = cmd.Replace != "" }),
		"whatever is there is replaced": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if cmd.Replace != "" {
				cmd.Replace = value(s, cmd.Key)
			}
		}),
	},
	"histories: raise": {
		"without the holder": grants(wire.Raise, nothing),
		"refused but done": refused(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			count(s, cmd.Key, max(cmd.Fence.Token, s.Counter(cmd.Key)))
		}),
		"lowers": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, last(cmd), cmd.Fence.Token) }),
		"compares text": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if s.Counter(cmd.Key).String() < cmd.Fence.Token.String() {
				count(s, cmd.Key, cmd.Fence.Token)
			}
		}),
		"sets the key, too": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Key, cmd.Value, 2*long) }),
	},
	"histories: extend": {
		"revives": grants(wire.Extend, func(s *Server, cmd *wire.Request) { s.Put(cmd.Key, cmd.Value, cmd.TTL) }),
		"extends another's": refused(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if !free(s, cmd.Key) {
				s.Put(cmd.Key, value(s, cmd.Key), cmd.TTL)
			}
		}),
		"never shortens":           granted(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, max(cmd.TTL, long)) }),
		"takes the expiry away":    granted(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, wire.NoExpiry) }),
		"tells more than is asked": granted(wire.Extend, func(s *Server, cmd wire.Request, vote *wire.Vote) { vote.Token = s.Counter(cmd.Key) }),
	},
	"histories: restore": {
		"overwrites others":                 grants(wire.Restore, func(s *Server, cmd *wire.Request) { s.Put(cmd.Key, cmd.Value, cmd.TTL) }),
		"refused but counts":                refused(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, cmd.Fence.Token) }),
		"doesn't count":                     instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.On = false }),
		"lowers the counter":                granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, cmd.Fence.Token) }),
		"shortens":                          granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(last(cmd), cmd.Value, cmd.TTL) }),
		"leaves the rest with its old time": granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Key, cmd.Value, long) }),
	},
	"histories: release": {
		"forgets the counter":   granted(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.DeleteCounter(cmd.Key) }),
		"without compare":       refused(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Delete(cmd.Key) }),
		"of nothing is granted": grants(wire.Release, nothing),
		"refused for a reason":  refused(wire.Release, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Err = errors.ErrUnsupported }),
		"compares a prefix": refused(wire.Release, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if strings.HasPrefix(value(s, cmd.Key), cmd.Value) {
				s.Delete(cmd.Key)
			}
		}),
	},
	"histories: look changes nothing": {
		"cleans up": {after: func(s *Server, cmd wire.Request, _ *wire.Vote) {
			s.Delete(map[bool]string{true: cmd.Key}[cmd.Op == wire.Look])
		}},
		"makes a counter": granted(wire.Look, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, max(1, s.Counter(cmd.Key))) }),
	},
	"histories: keys without expiry": {
		"that looks like not told": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Remaining = max(0, vote.Remaining) }},
	},
	"histories: some of several keys": {
		"a raise goes on where one is lost":     refused(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, cmd.Fence.Token) }),
		"an extension counts where one is lost": grants(wire.Extend, nothing),
		"an extension goes on where one is lost": refused(wire.Extend, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if value(s, cmd.Key) == cmd.Value {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
		}),
		"a release counts where one is lost": grants(wire.Release, nothing),
		"a release needs all": instead(wire.Release, func(s *Server, cmd *wire.Request) {
			if !slices.ContainsFunc(cmd.Also, func(key string) bool { return value(s, key) != cmd.Value }) {
				return
			}
			cmd.Value += " another's"
		}),
		"a replacement takes a held one, too": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if cmd.Replace != "" && len(cmd.Also) > 0 {
				s.Delete(cmd.Also[0])
			}
		}),
	},
	"histories: the first key in the way": {
		"it isn't told": refused(wire.Acquire, func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.InTheWay = min(vote.InTheWay, 1) }),
		"the free ones are set": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if free(s, last(cmd)) {
				s.Put(last(cmd), cmd.Value, cmd.TTL)
			}
		}),
	},
	"histories: the largest token of several keys": {
		"it is the first one's": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			for _, key := range cmd.Also {
				count(s, key, s.Counter(cmd.Key))
			}
		}),
	},
	"histories: tokens are reserved up to the clock": {
		"none are":             instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Reserve = 0 }),
		"they are given again": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) { count(s, cmd.Key, vote.First()) }),
		"and beyond": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			vote.Token, vote.Reserved = vote.First()+fencing.Token(cmd.Fence.Reserve), cmd.Fence.Reserve
			count(s, cmd.Key, vote.Token)
		}),
	},
	"histories: tokens are exact to the last": {
		"they are floating point": granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			count(s, cmd.Key, fencing.Token(math.Round(float64(s.Counter(cmd.Key))/100)*100))
		}),
	},
	"histories: how far counters go ahead": {
		"acquire counts without a bound":            instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"raise lifts without a bound":               instead(wire.Raise, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"restore lifts without a bound":             instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.Ahead = endless }),
		"a counter that is too far ahead is raised": on(wire.Acquire, wire.Failed, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, s.Counter(cmd.Key)+1) }),
		"restore sets the key all the same":         on(wire.Restore, wire.Failed, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.Put(cmd.Key, cmd.Value, cmd.TTL) }),
		"raise raises all the same":                 on(wire.Raise, wire.Failed, func(s *Server, cmd wire.Request, _ *wire.Vote) { count(s, cmd.Key, cmd.Fence.Token) }),
	},
	"histories: where counters start": {
		"from the clock alone": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Token = 0 }),
		"a refused one makes a counter": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if s.Counter(cmd.Key) == 0 && cmd.Fence.On {
				s.PutCounter(cmd.Key, max(1, cmd.Fence.Token), cmd.Fence.Set.String())
			}
		}),
		"a refused one counts in a run": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) {
			if token := s.Counter(cmd.Key); token > 0 && cmd.Run != "" {
				count(s, cmd.Key, token+1)
			}
		}),
	},
	"histories: counters of another run": {
		"runs don't matter": instead(wire.Acquire, func(s *Server, cmd *wire.Request) { s.PutRun(cmd.Key, s.PresentRun()) }),
		"each grant starts from the clock": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if cmd.Run == s.PresentRun() {
				s.PutRun(cmd.Key, anotherRun)
			}
		}),
		"a client that knows no run erases it": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if cmd.Run == "" {
				s.PutRun(cmd.Key, "")
			}
		}),
		"a refusal writes the run": refused(wire.Acquire, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.PutRun(cmd.Key, s.PresentRun()) }),
		"a lift lowers": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if now := fencing.Token(s.Clock().UnixMicro()); cmd.Run != "" && vote.Token > now+1 {
				vote.Token = now + 1
				count(s, cmd.Key, vote.Token)
			}
		}),
	},
	"histories: a run is Acquire's to write": {
		"restore writes it": granted(wire.Restore, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.PutRun(cmd.Key, s.PresentRun()) }),
		"raise forgets it":  granted(wire.Raise, func(s *Server, cmd wire.Request, _ *wire.Vote) { s.PutRun(cmd.Key, "") }),
	},
	"histories: another run is not asked": {
		"runs are not compared": {before: func(s *Server, cmd *wire.Request) {
			if cmd.Run != "" {
				cmd.Run = s.PresentRun()
			}
		}},
		"epochs are not compared": {before: func(_ *Server, cmd *wire.Request) { cmd.Run = wire.Run(cmd.Run.ReplID()) }},
		"the key is set all the same": on(wire.Acquire, wire.Failed, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if errors.Is(vote.Err, wire.ErrOtherRun) && free(s, cmd.Key) {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
		}),
		"the counter counts all the same": on(wire.Acquire, wire.Failed, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if errors.Is(vote.Err, wire.ErrOtherRun) {
				count(s, cmd.Key, s.Counter(cmd.Key)+1)
			}
		}),
	},
	"histories: sets": {
		"a newer one isn't taken": granted(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if s.Record(cmd.Key).Set != main.String() && cmd.Fence.Set.Name == "main" {
				*vote = wire.Vote{Outcome: wire.Refused, Err: &wire.SetMismatchError{Mine: cmd.Fence.Set, Theirs: main.String()}}
			}
		}),
		"sets are ignored": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.Set = main }),
		"any higher version takes over": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if old, err := wire.ParseSet(s.Record(cmd.Key).Set); err == nil && cmd.Fence.Set.Version > old.Version {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), "")
			}
		}),
		"a newer one takes a held key over": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			old, err := wire.ParseSet(s.Record(cmd.Key).Set)
			if err == nil && !free(s, cmd.Key) && cmd.Fence.Set.Supersedes(old) {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), cmd.Fence.Set.String())
			}
		}),
		"it leaves its key": refused(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if vote.Err != nil {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
		}),
		"it leaves its mark": refused(wire.Acquire, func(s *Server, cmd wire.Request, vote *wire.Vote) {
			if vote.Err != nil {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), cmd.Fence.Set.String())
			}
		}),
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
		"they live forever":          {before: func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL *= 1_000_000 }},
		"raise doesn't renew them":   instead(wire.Raise, func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL = time.Millisecond }),
		"restore doesn't renew them": instead(wire.Restore, func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL = time.Millisecond }),
		"acquire doesn't renew them": instead(wire.Acquire, func(_ *Server, cmd *wire.Request) { cmd.Fence.TTL = short }),
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
	"one of many acquires": {
		"acquire isn't atomic": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if free(s, cmd.Key) {
				time.Sleep(time.Microsecond)
				s.Delete(cmd.Key)
			}
		}),
	},
	"tokens of many cycles": {
		"the counter isn't atomic": instead(wire.Acquire, func(s *Server, cmd *wire.Request) {
			if token := s.Counter(cmd.Key); token > 0 {
				time.Sleep(time.Duration(token%7) * 50 * time.Microsecond)
				count(s, cmd.Key, token)
			}
		}),
	},
	"send: one vote for each": {
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
		"the front is the end":         {waiter: func(w *wire.Waiter) { w.Front = false }},
		"a free key has one":           {waiter: func(w *wire.Waiter) { w.Yield = true }},
		"says that it notified nobody": {after: func(_ *Server, _ wire.Request, vote *wire.Vote) { vote.Notified = false }},
		"claims a notification":        {after: func(_ *Server, cmd wire.Request, vote *wire.Vote) { vote.Notified = cmd.Notify }},
	},
	"notifications": {
		"yields to nobody": {waiter: func(w *wire.Waiter) { w.Yield = false }},
		"always notifies":  instead(wire.Release, func(_ *Server, cmd *wire.Request) { cmd.Notify = true }),
	},
	"closed subscriptions are passed over": {
		"notifies nobody": {before: func(_ *Server, cmd *wire.Request) { cmd.Notify = false }},
	},
	"probe": {
		"run id changes":               {probe: counting(func(n int64, id *wire.Identity) { id.RunID = fmt.Sprint(n) })},
		"each probe leaves a mark":     {probe: func(id *wire.Identity) { id.Served = 0 }},
		"every probe is another epoch": {probe: counting(func(n int64, id *wire.Identity) { id.Epoch = fmt.Sprint(n) })},
		"hides without a word":         {probe: func(id *wire.Identity) { id.Eviction = "" }},
	},
	"mark": {
		"is never renewed": {probe: func(id *wire.Identity) { id.Epoch = "1" }},
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
		name := about
		if _, is := strings.CutPrefix(about, "histories: "); is {
			name = "histories"
		}
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
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
