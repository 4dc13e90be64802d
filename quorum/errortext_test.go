package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// longestText is how long the text of an error may be, so that a reader gets to its end.
const longestText = 300

// permanentText is what package instance says of a failure that waiting doesn't cure.
type permanentText string

func (p permanentText) Error() string   { return string(p) }
func (p permanentText) Permanent() bool { return true }

const wrongPassword permanentText = "instance: the server doesn't let this user in: check the user and the password, and that the user is enabled (WRONGPASS invalid username-password pair or user is disabled.)"

// farServer says how far away it is.
type farServer struct {
	*quorumtest.Server
	trip *time.Duration
}

func (farServer) Connected() bool               { return true }
func (farServer) Connect(context.Context) error { return nil }
func (s farServer) RoundTrip() time.Duration    { return *s.trip }

// errorCase is one failure of a client of three servers, and what its texts must say.
type errorCase struct {
	prepare func(e *errorWorld)
	change  func(cfg *quorum.Config)
	trip    time.Duration // to each server, if it is known
	isNew   bool          // the servers and the client are
	verdict error
	says    []string
	longest int // if package wire says more than longestText
}

// errorWorld is three servers and another client, which has warmed them up.
type errorWorld struct {
	t       *testing.T
	servers []*quorumtest.Server
	clock   *skewedClock // of the first client
	c       *quorum.Coordinator
	other   *quorum.Coordinator
}

func (e *errorWorld) each(do func(s *quorumtest.Server)) {
	for _, s := range e.servers {
		do(s)
	}
}

func (e *errorWorld) down(which ...int) {
	for _, i := range which {
		s := e.servers[i]
		s.FailWith(fmt.Errorf("instance: no connection to the server (dial tcp %s: connect: connection refused)", s.Name()))
	}
}

// twoDigits are tries, of which it depends on chance whether there are ten.
var twoDigits = regexp.MustCompile(`\d\d tries`)

const textKey = "job:42"

var errorCases = map[string]errorCase{
	"all down": {
		prepare: func(e *errorWorld) { e.down(0, 1, 2) }, verdict: quorum.ErrNoQuorum,
		says: []string{"2 failed", ": no connection to the server (dial tcp: connect: connection refused)"},
	},
	"all hang": {
		prepare: func(e *errorWorld) { e.each((*quorumtest.Server).Hang) }, verdict: quorum.ErrNoQuorum,
		says: []string{"2 failed", ": instance did not answer in time (100ms)"},
	},
	"all too far away": {
		prepare: func(e *errorWorld) { e.each((*quorumtest.Server).Hang) }, trip: 60 * ms, verdict: quorum.ErrNoQuorum,
		says: []string{": instance did not answer in time", "a round trip takes 60ms; set quorum.Config.InstanceTimeout to 180ms or more"},
	},
	"all new": {
		prepare: func(*errorWorld) {}, isNew: true, verdict: quorum.ErrNoQuorum,
		says: []string{"in quarantine for ", "it came up 0s ago and may have lost votes", "wait, or call Coordinator.Trust if it never held a lock"},
	},
	"all restarted": {
		prepare: func(e *errorWorld) { e.each(func(s *quorumtest.Server) { s.Restart(false) }) }, verdict: quorum.ErrNoQuorum,
		says: []string{"in quarantine for ", "wait, or call Coordinator.Trust if it never held a lock"},
	},
	"all clocks jumped": {
		prepare: func(e *errorWorld) {
			e.each(func(s *quorumtest.Server) { s.StepClock(20 * time.Second) })
			_, _ = e.c.Verify(e.t.Context())
		}, verdict: quorum.ErrNoQuorum,
		says: []string{"in quarantine for ", "all clocks went forward by 19.99s, or this machine was suspended", "wait, and check its time service"},
	},
	"wrong password": {
		prepare: func(e *errorWorld) { e.each(func(s *quorumtest.Server) { s.FailWith(wrongPassword) }) }, verdict: quorum.ErrNoQuorum,
		says: []string{"the server doesn't let this user in: check the user and the password"},
	},
	"replicas": {
		prepare: func(e *errorWorld) {
			e.each(func(s *quorumtest.Server) {
				s.SetIdentity(func(id *wire.Identity) { id.Role = "slave" })
				s.Reconnect()
			})
		}, verdict: quorum.ErrNoQuorum,
		says: []string{"not a master", "list masters only"},
	},
	"taken": {
		prepare: func(e *errorWorld) {
			noted, err := e.other.WithTerms(func(t *quorum.Terms) { t.Note = "import of 12:00" })
			require.NoError(e.t, err)
			_, err = noted.TryAcquire(e.t.Context(), textKey)
			require.NoError(e.t, err)
			synctest.Wait()
		}, verdict: quorum.ErrTaken,
		says: []string{`held by client "worker-7" ("import of 12:00"), whose lease ends in `},
	},
	"split": {
		prepare: func(e *errorWorld) {
			for i, s := range e.servers {
				s.Put(textKey, fmt.Sprintf("%040x:crashed-%d a note of it", i+7, i), time.Hour)
			}
		}, verdict: quorum.ErrSplit,
		says: []string{"no client was seen to get the lock"},
	},
	"one down, two refused": {
		prepare: func(e *errorWorld) {
			e.down(0)
			for _, s := range e.servers[1:] {
				s.Put(textKey, fmt.Sprintf("%040x:worker-7 import of 12:00", 7), 9*time.Second)
			}
		}, verdict: quorum.ErrTaken,
		says: []string{" refused", `held by client "worker-7" ("import of 12:00"), whose lease ends in `},
	},
	"each fails in another way": { // which can't be short
		longest: 350,
		prepare: func(e *errorWorld) {
			e.down(0)
			e.servers[1].Hang()
			e.servers[2].FailWith(errors.New("instance: the server's memory is full; raise maxmemory or make room (OOM command not allowed when used memory > 'maxmemory'.)"))
		}, verdict: quorum.ErrNoQuorum,
	},
	"too slow": {
		prepare: func(e *errorWorld) {
			e.each(func(s *quorumtest.Server) {
				s.OnCommand(func(req wire.Request) {
					if req.Op == wire.Acquire {
						e.clock.stepWall(10 * time.Second)
					}
				})
			})
		}, verdict: quorum.ErrTooSlow,
		says: []string{"acquired too late, no validity left", "raise TTL or look for pauses of this process"},
	},
	"counters can't be raised": {
		prepare: func(e *errorWorld) {
			for i, s := range e.servers {
				s.PutCounter(textKey, fencing.Token(time.Now().Add(time.Duration(i)*time.Second).UnixMicro()))
				s.SetFate(only(wire.Raise, quorumtest.Fate{Err: errors.New("instance: no connection to the server (EOF)")}))
			}
		}, verdict: quorum.ErrUnsettled,
	},
	"clocks apart": {
		prepare: func(e *errorWorld) {
			for i, s := range e.servers {
				s.StepClock(time.Duration(i) * 5 * time.Hour)
				run := s.RunID()
				s.SetIdentity(func(id *wire.Identity) { id.Vouched = id.RunID == run })
			}
		}, isNew: true, verdict: quorum.ErrUnsettled,
		says: []string{"set the servers' clocks right"},
	},
	"another set": {
		prepare: func(e *errorWorld) {
			e.each(func(s *quorumtest.Server) { s.PutSet(wire.Set{Name: "main", N: 3, Q: 2, MaxTTL: time.Minute}) })
		}, verdict: quorum.ErrSetMismatch,
		says: []string{`this client has "@0 N=3 Q=2 MaxTTL=30s", the server "main@0 N=3 Q=2 MaxTTL=1m0s"`, "raise Config.Set.Version"},
	},
	"overload": {
		prepare: func(e *errorWorld) {
			e.each((*quorumtest.Server).Hang)
			for i := range 600 {
				go func() { _, _ = e.c.TryAcquire(e.t.Context(), fmt.Sprint("k", i)) }()
			}
			synctest.Wait()
		}, verdict: wire.ErrOverloaded,
		says: []string{"try again later, or ask for fewer locks at once"},
	},
	"too many deletes": {
		prepare: func(e *errorWorld) {
			e.each((*quorumtest.Server).Hang)
			for range 3 {
				_, _ = e.c.TryAcquire(e.t.Context(), textKey)
			}
		},
		change: func(cfg *quorum.Config) { cfg.Lab.MaxPendingDeletes = 1 }, verdict: quorum.ErrNoQuorum,
	},
}

// TestErrorTexts makes the usual failures of three servers. Each text is short, also after a wait. It names the instances
// that failed, and says why and what to do.
func TestErrorTexts(t *testing.T) {
	for name, c := range errorCases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, closeAll := c.world(t)
				defer closeAll()
				c.prepare(e)
				check := func(how string, err error) {
					text := twoDigits.ReplaceAllString(err.Error(), "9 tries")
					assert.LessOrEqual(t, len(text), max(longestText, c.longest), "%s: %s", how, text)
					assert.NotRegexp(t, `.quorum: |instance: `, err.Error(), "a package's name once is enough")
					if errors.Is(err, c.verdict) { // a wait for the same lock may fail otherwise
						for _, says := range c.says {
							assert.ErrorContains(t, err, says)
						}
					}
				}
				_, err := e.c.TryAcquire(t.Context(), textKey)
				require.ErrorIs(t, err, c.verdict)
				check("one try", err)

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err = e.c.Acquire(ctx, textKey); err != nil { // of clients that wait one wins at last
					check("a wait that was interrupted", err)
				}
				brief, err := e.c.WithTerms(func(t *quorum.Terms) { t.MaxWait = time.Second })
				require.NoError(t, err)
				if _, err = brief.Acquire(t.Context(), textKey); err != nil {
					check("a wait that was too long", err)
				}
			})
		})
	}
}

// world makes the servers and the clients.
func (c *errorCase) world(t *testing.T) (e *errorWorld, closeAll func()) {
	e = &errorWorld{t: t}
	trip := time.Duration(0)
	var instances []wire.Instance
	for i := range 3 {
		s := quorumtest.NewServer(fmt.Sprintf("10.0.0.%d:6379", i+1), nil)
		run := s.RunID()
		s.SetIdentity(func(id *wire.Identity) { id.Vouched = id.RunID == run && !c.isNew })
		e.servers = append(e.servers, s)
		instances = append(instances, farServer{s, &trip})
	}
	cfg := quorum.Config{Hooks: quorum.Hooks{Waiting: func(context.Context, quorum.WaitEvent) {}}}
	if c.change != nil {
		c.change(&cfg)
	}
	make := func(cfg quorum.Config) *quorum.Coordinator {
		made, err := quorum.New(cfg, instances...)
		require.NoError(t, err)
		return made
	}
	e.clock = newSkewedClock()
	cfg.Lab.Clock = e.clock
	e.c = make(cfg)
	cfg.Lab.Clock = nil
	cfg.Owner = "worker-7"
	e.other = make(cfg)
	if !c.isNew {
		for _, client := range []*quorum.Coordinator{e.c, e.other} {
			_, err := client.Verify(t.Context())
			require.NoError(t, err)
		}
	}
	trip = c.trip
	return e, func() {
		e.each(func(s *quorumtest.Server) { s.SetFate(nil); s.Resume() })
		require.NoError(t, e.c.Close(context.Background()))
		require.NoError(t, e.other.Close(context.Background()))
	}
}
