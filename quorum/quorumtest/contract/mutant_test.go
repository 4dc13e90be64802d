package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
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
	Server          = quorumtest.Server
	NotifyingServer = quorumtest.NotifyingServer
)

var NewServer = quorumtest.NewServer

// mutant is a Server with one rule broken. Nil fields are correct.
type mutant struct {
	*Server
	send    func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver)
	do      func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote
	probe   func(s *Server, id wire.Identity) wire.Identity
	restart func(s *Server)
}

func (m mutant) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	switch {
	case m.send != nil:
		m.send(m.Server, cmd, timeout, to)
	case m.do != nil:
		do := func(ctx context.Context, cmd wire.Request) wire.Vote { return m.do(m.Server, ctx, cmd) }
		wire.SendBlocking(nil, do, cmd, timeout, to)
	default:
		m.Server.Send(cmd, timeout, to)
	}
}

func (m mutant) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	id, err := m.Server.Probe(ctx, before)
	if m.probe == nil || err != nil {
		return id, err
	}
	return m.probe(m.Server, id), nil
}

func (m mutant) Restart(keepData bool) {
	if m.restart == nil {
		m.Server.Restart(keepData)
		return
	}
	m.restart(m.Server)
}

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

// fails runs all parts against what open returns, in virtual time, and returns the messages of
// those that fail, by name.
func fails(t *testing.T, open func() wire.Instance) map[string]string {
	failed := map[string]string{}
	for _, p := range parts {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{ctx: t.Context()}
			done := make(chan struct{})
			go func() {
				defer close(done)
				p.run(newCheck(Skew(0)).on(r, open()))
			}()
			<-done
			if len(r.failed) > 0 {
				failed[p.name] = strings.Join(r.failed, "\n")
			}
		})
	}
	return failed
}

func TestCheckFindsNothingWrongWithServer(t *testing.T) {
	assert.Empty(t, fails(t, func() wire.Instance { return NewServer("a", nil) }))
	assert.Empty(t, fails(t, func() wire.Instance { return mutant{Server: NewServer("a", nil)} }), "the mutant without a change")
}

func TestCheckFindsMutants(t *testing.T) {
	if raced {
		t.Skip("mutants have no goroutines of their own, and the check is raced on the right server")
	}
	// on breaks one operation: f gets the request and the right vote, after it was carried out.
	on := func(op wire.Op, f func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote) mutant {
		return mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			vote := s.Do(ctx, cmd)
			if cmd.Op != op || vote.Outcome == wire.Failed {
				return vote
			}
			return f(s, cmd, vote)
		}}
	}
	// failing breaks what one operation leaves behind after a counter stopped it.
	failing := func(op wire.Op, f func(s *Server, cmd wire.Request)) mutant {
		return mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			vote := s.Do(ctx, cmd)
			if cmd.Op == op && errors.Is(vote.Err, wire.ErrCounter) {
				f(s, cmd)
			}
			return vote
		}}
	}
	// instead sends another request.
	instead := func(op wire.Op, f func(wire.Request) wire.Request) mutant {
		return mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op == op {
				cmd = f(cmd)
			}
			return s.Do(ctx, cmd)
		}}
	}
	// key changes every request's key.
	key := func(f func(string) string) mutant {
		return mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			cmd.Key = f(cmd.Key)
			return s.Do(ctx, cmd)
		}}
	}
	granted := wire.Vote{Outcome: wire.Granted}
	// several breaks one operation about several keys.
	several := func(op wire.Op, f func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote) mutant {
		return on(op, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if len(cmd.Also) == 0 {
				return vote
			}
			return f(s, cmd, vote)
		})
	}

	for name, c := range map[string]struct {
		mutant mutant
		part   string // that must fail, beside others
	}{
		"only the first of several keys is known": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			cmd.Also = nil
			return s.Do(ctx, cmd)
		}}, "several keys: acquire"},
		"a refused acquire of several sets those that are free": {several(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if _, _, held := s.Get(cmd.Also[0]); vote.Outcome == wire.Refused && !held {
				s.Put(cmd.Also[0], cmd.Value, cmd.TTL)
			}
			return vote
		}), "several keys: acquire"},
		"an acquire of several doesn't say what is in the way": {several(wire.Acquire, func(_ *Server, _ wire.Request, vote wire.Vote) wire.Vote {
			vote.InTheWay = min(vote.InTheWay, 1)
			return vote
		}), "several keys: acquire"},
		"the counters of several keys differ": {several(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted && cmd.Fence.On {
				s.PutCounter(cmd.Also[0], vote.Token-1, s.Record(cmd.Key).Set)
			}
			return vote
		}), "several keys: one token"},
		"the token of several is that of the first": {several(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted && cmd.Fence.On && strings.HasSuffix(cmd.Key, ":a") {
				vote.Token--
			}
			return vote
		}), "several keys: acquire"},
		"a raise of several goes on where one is lost": {several(wire.Raise, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Refused {
				s.PutCounter(cmd.Key, cmd.Fence.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}), "several keys: held"},
		"an extension of several counts where one is lost": {several(wire.Extend, func(*Server, wire.Request, wire.Vote) wire.Vote { return granted }), "several keys: held"},
		"an extension of several goes on where one is lost": {several(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if value, _, _ := s.Get(cmd.Key); vote.Outcome == wire.Refused && value == cmd.Value {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
			return vote
		}), "several keys: held"},
		"a release of several counts where one is lost": {several(wire.Release, func(*Server, wire.Request, wire.Vote) wire.Vote { return granted }), "several keys: held"},
		"a release of several needs all": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			for _, key := range cmd.Also {
				if value, _, _ := s.Get(key); cmd.Op == wire.Release && value != cmd.Value {
					return wire.Vote{Outcome: wire.Refused}
				}
			}
			return s.Do(ctx, cmd)
		}}, "several keys: held"},
		"a restore of several leaves the rest with its old time": {several(wire.Restore, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted {
				s.Put(cmd.Key, cmd.Value, time.Minute)
			}
			return vote
		}), "several keys: held"},
		"a replacement of several takes a held one, too": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Replace != "" && len(cmd.Also) > 0 {
				s.Delete(cmd.Also[0])
			}
			return s.Do(ctx, cmd)
		}}, "several keys: replace"},
		"acquire of a held key is granted to its own value": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if value, _, _ := s.Get(cmd.Key); vote.Outcome == wire.Refused && vote.Err == nil && value == cmd.Value {
				granted := granted
				granted.Token = s.Counter(cmd.Key)
				return granted
			}
			return vote
		}), "acquire a held key"},
		"refused acquire sets": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Refused {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
			return vote
		}), "acquire a held key"},
		"refused acquire prolongs": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if value, _, ok := s.Get(cmd.Key); ok && vote.Outcome == wire.Refused {
				s.Put(cmd.Key, value, cmd.TTL+time.Second)
			}
			return vote
		}), "acquire a held key"},
		"refused acquire counts": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Refused && vote.Err == nil && cmd.Fence.On {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key)+1, s.Record(cmd.Key).Set)
			}
			return vote
		}), "tokens rise"},
		"acquire doesn't tell what is left": {on(wire.Acquire, func(_ *Server, _ wire.Request, vote wire.Vote) wire.Vote {
			vote.Remaining = 0
			return vote
		}), "acquire a held key"},
		"token isn't raised": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if before := s.Counter(cmd.Key); cmd.Op == wire.Acquire && cmd.Fence.On && before > 0 {
				s.PutCounter(cmd.Key, before-1, s.Record(cmd.Key).Set)
			}
			return s.Do(ctx, cmd)
		}}, "tokens rise"},
		"no tokens are reserved": {instead(wire.Acquire, func(cmd wire.Request) wire.Request {
			cmd.Fence.Reserve = 0
			return cmd
		}), "acquire reserves tokens"},
		"reserved tokens are given again": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Reserved > 0 {
				s.PutCounter(cmd.Key, vote.Token-fencing.Token(vote.Reserved), s.Record(cmd.Key).Set)
			}
			return vote
		}), "acquire reserves tokens"},
		"tokens are reserved beyond the clock": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if lacking := cmd.Fence.Reserve - vote.Reserved; vote.Outcome == wire.Granted && lacking > 0 {
				vote.Token, vote.Reserved = vote.Token+fencing.Token(lacking), cmd.Fence.Reserve
				s.PutCounter(cmd.Key, vote.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}), "reserved tokens end at the clock"},
		"acquire counts without a bound": {instead(wire.Acquire, func(cmd wire.Request) wire.Request {
			cmd.Fence.Ahead = endless
			return cmd
		}), "how far acquire counts"},
		"a counter that is too far ahead is raised": {failing(wire.Acquire, func(s *Server, cmd wire.Request) {
			s.PutCounter(cmd.Key, s.Counter(cmd.Key)+1, s.Record(cmd.Key).Set)
		}), "how far acquire counts"},
		"raise lifts without a bound": {instead(wire.Raise, func(cmd wire.Request) wire.Request {
			cmd.Fence.Ahead = endless
			return cmd
		}), "how far raise and restore lift"},
		"restore lifts without a bound": {instead(wire.Restore, func(cmd wire.Request) wire.Request {
			cmd.Fence.Ahead = endless
			return cmd
		}), "how far raise and restore lift"},
		"restore sets the key though the counter can't be lifted": {failing(wire.Restore, func(s *Server, cmd wire.Request) {
			s.Put(cmd.Key, cmd.Value, cmd.TTL)
		}), "how far raise and restore lift"},
		"token of the vote isn't the counter": {on(wire.Acquire, func(_ *Server, _ wire.Request, vote wire.Vote) wire.Vote {
			if vote.Token > 0 {
				vote.Token++
			}
			return vote
		}), "acquire a free key"},
		"counters start from 0": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op == wire.Acquire && cmd.Fence.On && s.Counter(cmd.Key) == 0 {
				s.PutCounter(cmd.Key, 0, "")
			}
			return s.Do(ctx, cmd)
		}}, "a new counter starts from the clock"},
		"runs don't matter to counters": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op == wire.Acquire && cmd.Fence.On && s.Counter(cmd.Key) != 0 {
				s.PutRun(cmd.Key, s.PresentRun())
			}
			return s.Do(ctx, cmd)
		}}, "a counter of another run is lifted to the clock"},
		"runs are not compared": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Run != "" {
				cmd.Run = s.PresentRun()
			}
			return s.Do(ctx, cmd)
		}}, "another run is not asked"},
		"each grant starts from the clock": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Run == s.PresentRun() {
				s.PutRun(cmd.Key, anotherRun)
			}
			return s.Do(ctx, cmd)
		}}, "a counter of another run is lifted to the clock"},
		"a client that knows no run erases it": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op == wire.Acquire && cmd.Run == "" && s.Counter(cmd.Key) != 0 {
				s.PutRun(cmd.Key, "")
			}
			return s.Do(ctx, cmd)
		}}, "a counter of another run is lifted to the clock"},
		"a lift lowers": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if now := fencing.Token(s.Clock().UnixMicro()); cmd.Run != "" && vote.Outcome == wire.Granted && vote.Token > now+1 {
				s.PutCounter(cmd.Key, now+1, s.Record(cmd.Key).Set)
				vote.Token = now + 1
			}
			return vote
		}), "a counter of another run is lifted to the clock"},
		"restore changes the run": {on(wire.Restore, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if cmd.Fence.On && vote.Outcome == wire.Granted {
				s.PutRun(cmd.Key, s.PresentRun())
			}
			return vote
		}), "a run is Acquire's to write"},
		"counters live forever": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			cmd.Fence.TTL *= 1_000_000
			return s.Do(ctx, cmd)
		}}, "counters expire"},
		"raise doesn't renew the counter": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op == wire.Raise {
				cmd.Fence.TTL = time.Millisecond
			}
			return s.Do(ctx, cmd)
		}}, "counters expire"},
		"counters are floating point": {on(wire.Raise, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.PutCounter(cmd.Key, fencing.Token(math.Round(float64(s.Counter(cmd.Key))/100)*100), s.Record(cmd.Key).Set)
			return vote
		}), "tokens are exact to the last"},
		"release forgets the counter": {on(wire.Release, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted {
				s.PutCounter(cmd.Key, 0, "")
			}
			return vote
		}), "release"},
		"acquire without fence counts": {instead(wire.Acquire, func(cmd wire.Request) wire.Request {
			cmd.Fence.On, cmd.Fence.TTL, cmd.Fence.Set = true, time.Hour, main
			return cmd
		}), "acquire without fence"},
		"raise without holder": {on(wire.Raise, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.PutCounter(cmd.Key, max(cmd.Fence.Token, s.Counter(cmd.Key)), s.Record(cmd.Key).Set)
			return granted
		}), "raise only while mine"},
		"raise refused but done": {on(wire.Raise, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.PutCounter(cmd.Key, max(cmd.Fence.Token, s.Counter(cmd.Key)), s.Record(cmd.Key).Set)
			return vote
		}), "raise only while mine"},
		"raise lowers": {on(wire.Raise, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted {
				s.PutCounter(cmd.Key, cmd.Fence.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}), "raise"},
		"raise compares text": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			before := s.Counter(cmd.Key)
			vote := s.Do(ctx, cmd)
			if cmd.Op == wire.Raise && vote.Outcome == wire.Granted && before.String() < cmd.Fence.Token.String() {
				s.PutCounter(cmd.Key, cmd.Fence.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}}, "raise"},
		"extend revives": {on(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if _, _, exists := s.Get(cmd.Key); !exists {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
				return granted
			}
			return vote
		}), "extend only while mine"},
		"extend of another's": {on(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if value, _, exists := s.Get(cmd.Key); exists {
				s.Put(cmd.Key, value, cmd.TTL)
			}
			return vote
		}), "extend only while mine"},
		"extend never shortens": {on(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted {
				s.Put(cmd.Key, cmd.Value, max(cmd.TTL, time.Minute))
			}
			return vote
		}), "extend"},
		"extend takes the expiry away": {on(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted {
				s.Put(cmd.Key, cmd.Value, wire.NoExpiry)
			}
			return vote
		}), "extend"},
		"restore overwrites others": {on(wire.Restore, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.Put(cmd.Key, cmd.Value, cmd.TTL)
			return granted
		}), "restore over nobody else"},
		"restore refused but counted": {on(wire.Restore, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Refused && cmd.Fence.On {
				s.PutCounter(cmd.Key, cmd.Fence.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}), "restore over nobody else"},
		"restore doesn't count": {instead(wire.Restore, func(cmd wire.Request) wire.Request {
			cmd.Fence.On = false
			return cmd
		}), "restore"},
		"restore lowers the counter": {on(wire.Restore, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Granted && cmd.Fence.On {
				s.PutCounter(cmd.Key, cmd.Fence.Token, s.Record(cmd.Key).Set)
			}
			return vote
		}), "restore"},
		"release without compare": {on(wire.Release, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.Delete(cmd.Key)
			return vote
		}), "release only while mine"},
		"release by prefix": {on(wire.Release, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if value, _, ok := s.Get(cmd.Key); ok && strings.HasPrefix(value, cmd.Value) {
				s.Delete(cmd.Key)
			}
			return vote
		}), "release only while mine"},
		"release of nothing is granted": {on(wire.Release, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if _, _, ok := s.Get(cmd.Key); !ok {
				return granted
			}
			return vote
		}), "release"},
		"look cleans up": {on(wire.Look, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			s.Delete(cmd.Key)
			return vote
		}), "look changes nothing"},
		"look makes a counter": {on(wire.Look, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Token == 0 && cmd.Fence.On {
				s.PutCounter(cmd.Key, 1, "")
			}
			return vote
		}), "look changes nothing"},
		"no expiry looks like not told": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			vote := s.Do(ctx, cmd)
			vote.Remaining = max(0, vote.Remaining)
			return vote
		}}, "keys without expiry"},
		"TTL in whole seconds": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.TTL > 0 {
				cmd.TTL = max(time.Second, cmd.TTL.Truncate(time.Second))
			}
			return s.Do(ctx, cmd)
		}}, "ttl"},
		"TTL cut by a tenth": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.TTL > 10*time.Millisecond {
				cmd.TTL -= (cmd.TTL / 10).Truncate(time.Millisecond)
			}
			return s.Do(ctx, cmd)
		}}, "ttl"},
		"clock isn't told when refused": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			vote := s.Do(ctx, cmd)
			if vote.Outcome == wire.Refused {
				vote.Clock = time.Time{}
			}
			return vote
		}}, "clock"},
		"clock in seconds": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			vote := s.Do(ctx, cmd)
			if !vote.Clock.IsZero() {
				vote.Clock = vote.Clock.Add(500 * time.Millisecond).Truncate(time.Second).Add(-time.Second)
			}
			return vote
		}}, "clock"},
		"set is ignored": {instead(wire.Acquire, func(cmd wire.Request) wire.Request {
			if cmd.Fence.On {
				cmd.Fence.Set = main
			}
			return cmd
		}), "set: mismatch"},
		"any higher version takes over": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if old, err := wire.ParseSet(s.Record(cmd.Key).Set); err == nil && cmd.Op == wire.Acquire && cmd.Fence.Set.Version > old.Version {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), "")
			}
			return s.Do(ctx, cmd)
		}}, "set: mismatch"},
		"newer set takes a held key over": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			old, err := wire.ParseSet(s.Record(cmd.Key).Set)
			if _, _, held := s.Get(cmd.Key); err == nil && held && cmd.Op == wire.Acquire && cmd.Fence.Set.Supersedes(old) {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), cmd.Fence.Set.String())
			}
			return s.Do(ctx, cmd)
		}}, "set: a held key is not taken over"},
		"mismatch leaves its key": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if errors.Is(vote.Err, wire.ErrSetMismatch) {
				s.Put(cmd.Key, cmd.Value, cmd.TTL)
			}
			return vote
		}), "set: mismatch"},
		"mismatch leaves its mark": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if errors.Is(vote.Err, wire.ErrSetMismatch) {
				s.PutCounter(cmd.Key, s.Counter(cmd.Key), cmd.Fence.Set.String())
			}
			return vote
		}), "set: mismatch"},
		"newer set isn't taken": {on(wire.Acquire, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			if vote.Token > 0 && s.Record(cmd.Key).Set != main.String() && cmd.Fence.Set.Name == "main" {
				s.Delete(cmd.Key)
				return wire.Vote{Outcome: wire.Refused, Err: &wire.SetMismatchError{Mine: cmd.Fence.Set, Theirs: main.String()}}
			}
			return vote
		}), "set: the same and a new one"},
		"keys in lower case":       {key(strings.ToLower), "keys"},
		"keys are trimmed":         {key(strings.TrimSpace), "keys"},
		"keys are cut at the line": {key(func(k string) string { line, _, _ := strings.Cut(k, "\n"); return line }), "keys"},
		"values become UTF-8": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			cmd.Value = strings.ToValidUTF8(cmd.Value, "?")
			return s.Do(ctx, cmd)
		}}, "values"},
		"votes twice": {mutant{send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			s.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
				to.Receive(vote)
				if cmd.Op == wire.Acquire && vote.Outcome == wire.Refused {
					to.Receive(vote)
				}
			}))
		}}, "send: one vote for each"},
		"says unsent of what it sent": {mutant{send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			s.Send(cmd, patience, wire.ReceiverFunc(func(vote wire.Vote) {
				if timeout < time.Millisecond {
					vote = wire.Vote{Unsent: true, Err: context.DeadlineExceeded}
				}
				to.Receive(vote)
			}))
		}}, "send: a timeout"},
		"calls a timeout something else": {mutant{send: func(s *Server, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
			if timeout < time.Millisecond {
				to.Receive(wire.Vote{Unsent: true, Err: errors.ErrUnsupported})
				return
			}
			s.Send(cmd, timeout, to)
		}}, "send: a timeout"},
		"acquire isn't atomic": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			if cmd.Op != wire.Acquire || ctx.Err() != nil {
				return s.Do(ctx, cmd)
			}
			if _, _, held := s.Get(cmd.Key); !held {
				time.Sleep(time.Microsecond)
				s.Delete(cmd.Key)
			}
			return s.Do(ctx, cmd)
		}}, "one of many acquires"},
		"counter isn't atomic": {mutant{do: func(s *Server, ctx context.Context, cmd wire.Request) wire.Vote {
			before := s.Counter(cmd.Key)
			if cmd.Op == wire.Acquire && cmd.Fence.On && before > 0 {
				time.Sleep(time.Duration(before%7) * 50 * time.Microsecond)
				s.PutCounter(cmd.Key, before, s.Record(cmd.Key).Set)
			}
			return s.Do(ctx, cmd)
		}}, "tokens of many cycles"},
		"run id stays": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.RunID = "constant"
			return id
		}}, "restart"},
		"replication id stays": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.ReplID = "constant"
			return id
		}}, "restart"},
		"run id changes": {mutant{probe: func() func(_ *Server, id wire.Identity) wire.Identity {
			var n atomic.Int64
			return func(_ *Server, id wire.Identity) wire.Identity {
				id.RunID = fmt.Sprint(n.Add(1))
				return id
			}
		}()}, "probe"},
		"each probe leaves a mark": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.Served = 0
			return id
		}}, "probe"},
		"every probe is another epoch": {mutant{probe: func() func(_ *Server, id wire.Identity) wire.Identity {
			var n atomic.Int64
			return func(_ *Server, id wire.Identity) wire.Identity {
				id.Epoch = fmt.Sprint(n.Add(1))
				return id
			}
		}()}, "probe"},
		"the mark is never renewed": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.Epoch = "1"
			return id
		}}, "mark"},
		"the mark outlives the run": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.Served += time.Hour
			return id
		}}, "restart"},
		"probe hides without a word": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.Eviction = ""
			return id
		}}, "probe"},
		"vouches after a restart": {mutant{probe: func(_ *Server, id wire.Identity) wire.Identity {
			id.Vouched = true
			return id
		}}, "restart"},
		"votes that say more than was asked": {on(wire.Extend, func(s *Server, cmd wire.Request, vote wire.Vote) wire.Vote {
			vote.Token = s.Counter(cmd.Key)
			return vote
		}), "extend"},
		"refused for a reason of its own": {on(wire.Release, func(_ *Server, _ wire.Request, vote wire.Vote) wire.Vote {
			if vote.Outcome == wire.Refused {
				vote.Err = errors.ErrUnsupported
			}
			return vote
		}), "release"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := fails(t, func() wire.Instance {
				m := c.mutant
				m.Server = NewServer("mutant", nil)
				return m
			})
			require.NotEmpty(t, failed, "no part of Check noticed")
			assert.Contains(t, failed, c.part, "the part that is about it didn't notice")
		})
	}
}
