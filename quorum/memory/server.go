package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// maxName is the longest name of a server, in bytes.
const maxName = 64

// Server is a server inside the process, and its instance. Its methods may be called from many
// goroutines at once. There is nothing to close.
type Server struct {
	name    string
	started time.Time

	mu            sync.Mutex // never held while a receiver is called
	data          *Data
	id            wire.Identity // as the last Probe found it
	mark          Mark
	subscriptions Subscriptions
}

var _ wire.Notifier = (*Server)(nil)

// warned: the log has the warning.
var warned atomic.Bool

// servers are those of the process, by their names.
var servers = struct {
	sync.Mutex
	named map[string]*Server
}{named: map[string]*Server{}}

// Open returns the servers with these URLs, memory:// and a name of up to 64 letters, digits and
// . _ - or none. Two Opens of one URL, in upper or lower case, return the same server. It is nil, without
// an error, if none of the URLs is memory://. The error Is quorum.ErrConfig, and repeats no URL, because
// one may have a password. Don't put a server of Open and one of another kind into one Coordinator.
func Open(urls ...string) ([]wire.Instance, error) {
	var names []string
	for i, url := range urls {
		scheme, name, is := strings.Cut(url, "://")
		if !is || !strings.EqualFold(scheme, "memory") {
			continue
		}
		if len(name) > maxName || strings.ContainsFunc(name, notInName) {
			return nil, fmt.Errorf("%w: URL %d of %d: after memory:// is a name of up to %d letters, digits and . _ - or none", wire.ErrConfig, i+1, len(urls), maxName)
		}
		names = append(names, strings.ToLower(name))
	}
	if mixed := len(names) > 0 && len(names) < len(urls); mixed {
		return nil, fmt.Errorf("%w: %d of %d URLs are memory://, and each process has such servers of its own: two processes could both have a quorum; use memory:// for all of a set or for none", wire.ErrConfig, len(names), len(urls))
	}
	if len(names) > 0 && !warned.Swap(true) {
		slog.Default().Warn("redlock: memory:// is a lock server inside this process: no other process sees its locks, and they end with it")
	}
	var instances []wire.Instance
	for _, name := range names {
		instances = append(instances, named(name))
	}
	return instances, nil
}

func notInName(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c))
}

// named returns the server with a name, and starts it if there is none.
func named(name string) *Server {
	servers.Lock()
	defer servers.Unlock()
	if servers.named[name] == nil {
		servers.named[name] = start("memory://" + name)
	}
	return servers.named[name]
}

// start starts a server. It vouches for its run, which lasts as long as its name: it has every vote
// that it ever gave.
func start(name string) *Server {
	s := &Server{name: name, started: time.Now(), data: NewData(), subscriptions: Subscriptions{}}
	s.data.Notify = s.subscriptions.Notify
	s.id = wire.Identity{
		RunID: rand.Text(), ReplID: rand.Text(), Vouched: true, InProcess: true,
		Role: wire.RoleMaster, Persistence: "none", Eviction: "noeviction", Server: "memory",
	}
	s.mark = NewMark(s.id, s.started, "")
	s.id.Mark = s.mark.Of(s.id)
	return s
}

// Name is the server's URL.
func (s *Server) Name() string { return s.name }

// ConnLife is 0, because the name never leads to another server.
func (s *Server) ConnLife() time.Duration { return 0 }

// now is the server's clock: the wall clock when it started, and the time since by the monotonic
// clock. Keys expire by it, so a wall clock that is set forward ends no lease, and the server's clock
// never jumps. It stands still while the machine is suspended. Holders don't count on that time.
func (s *Server) now() time.Time {
	return s.started.Add(time.Since(s.started))
}

// Send executes a request and calls the receiver, before it returns: see wire.Instance.
func (s *Server) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	s.mu.Lock()
	vote := s.data.RunIn(s.id, req, s.now())
	s.mu.Unlock()
	to.Receive(vote)
}

// Probe says who the server is, see wire.Instance.
func (s *Server) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	if ctx.Err() != nil {
		return wire.Identity{}, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.id.Clock, s.id.Uptime = now.Round(0), now.Sub(s.started).Truncate(time.Second)
	if err := s.mark.Probe(&s.id, known, now); err != nil {
		return wire.Identity{}, err
	}
	return s.id, nil
}

// Subscribe opens a Subscription, see wire.Notifier.
func (s *Server) Subscribe(ctx context.Context) (wire.Subscription, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscriptions.Open(&s.mu), nil
}
