package quorumtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// Server is a server in memory and the connection to it: a wire.Instance. Its keys expire by
// its own wall clock. It can be made to hang, crash, lose data, report a wrong identity, and
// lose requests and replies.
//
// It has no goroutines. What is due is executed at the next call of a method, as of the moment
// when it was due. So it works in a testing/synctest bubble, and need not be closed. Its
// methods may be called from many goroutines at once.
type Server struct {
	name  string
	clock clock.Clock

	mu    sync.Mutex // never held while a goroutine waits
	data  *memory.Data
	queue []*request // on their way or in the socket's buffer, by due, then in order of sending
	log   []Entry

	offset  time.Duration // of the server's wall clock from clock
	hung    bool
	resumed time.Time // when the last Hang ended
	fate    func(wire.Request) Fate
	hook    func(wire.Request)
	edit    func(*wire.Identity)

	runID    string
	replID   string
	promoted bool
	started  time.Time     // by the server's wall clock
	mark     memory.Mark   // that clients left under the server's name
	broken   chan struct{} // closed when the connection breaks
	down     bool

	subscriptions     memory.Subscriptions
	subscribed        int // how many were ever opened
	loseNotifications bool
	cannotNotify      error // why Subscribe fails
}

// request is a request on its way, or a probe if cmd is zero.
type request struct {
	cmd    wire.Request
	before wire.Known // of a probe
	fate   Fate
	due    time.Time // when it arrives at the server

	// Written once, by the server, before done is closed.
	vote wire.Vote
	id   wire.Identity
	done chan struct{}
}

// Entry is a request that the server has executed, or answered with an error.
type Entry struct {
	// At is when that happened, by the clock that was given to NewServer.
	At time.Time
	// Request and Vote are what was asked and answered, whether or not the
	// answer arrived.
	Request wire.Request
	Vote    wire.Vote
}

// maxLog is how many entries a Server remembers at least.
const maxLog = 1 << 16

// NewServer starts a server without data. It uses clk; nil is the real clock, or the virtual
// clock inside a testing/synctest bubble. Identity.Served counts from now on, and for each
// later run from that run's first Probe.
func NewServer(name string, clk clock.Clock) *Server {
	if clk == nil {
		clk = clock.New()
	}
	s := &Server{name: name, clock: clk, subscriptions: memory.Subscriptions{}}
	s.up(false)
	s.mark = memory.NewMark(wire.Identity{ReplID: s.replID}, s.started, "")
	return s
}

// Name is the name that was given to NewServer.
func (s *Server) Name() string { return s.name }

// Send sends a request, see wire.Instance.
func (s *Server) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	wire.SendBlocking(s.clock, s.Do, cmd, timeout, to)
}

// Do sends a request and waits for its vote, or for ctx's end.
func (s *Server) Do(ctx context.Context, cmd wire.Request) wire.Vote {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(cmd)
	}
	return s.send(ctx, &request{cmd: cmd})
}

// ConnLife is 0, because the name never leads to another server.
func (s *Server) ConnLife() time.Duration { return 0 }

// Probe asks for the server's identity, see wire.Instance.
func (s *Server) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	r := &request{before: before}
	if err := s.send(ctx, r).Err; err != nil {
		return wire.Identity{}, err
	}
	return r.id, nil
}

// send sends a request and waits for its vote. A probe's answer is in r.id then.
func (s *Server) send(ctx context.Context, r *request) wire.Vote {
	if ctx.Err() != nil {
		return wire.Vote{Err: context.Cause(ctx), Unsent: true}
	}
	s.mu.Lock()
	fate := s.fate
	s.mu.Unlock()
	r.done = make(chan struct{})
	if fate != nil {
		r.fate = fate(r.cmd)
	}

	s.mu.Lock()
	broken, refused := s.broken, s.down || r.fate.End == Refuse
	now := s.clock.Now()
	r.due = now.Add(r.fate.Before)
	if !refused && r.fate.End != LoseRequest && r.fate.End != ResetBefore {
		s.enqueue(r)
		s.advance(now)
	}
	s.mu.Unlock()
	if refused {
		return wire.Vote{Err: ErrConnRefused, Unsent: true}
	}
	if err := s.travel(ctx, r, broken); err != nil {
		return wire.Vote{Err: err}
	}
	return r.vote
}

// travel waits until the reply has arrived.
func (s *Server) travel(ctx context.Context, r *request, broken <-chan struct{}) error {
	if err := s.wait(ctx, r.fate.Before, r.done, broken); err != nil {
		return err
	}
	if r.fate.End == ResetBefore {
		return ErrConnReset
	}
	s.mu.Lock()
	s.advance(s.clock.Now())
	s.mu.Unlock()
	// A request that is lost ends with ctx or with the connection.
	if err := s.wait(ctx, never, r.done, broken); err != nil {
		return err
	}
	switch r.fate.End {
	case LoseReply:
		return s.wait(ctx, never, nil, broken)
	case ResetAfter:
		return ErrConnReset
	}
	return s.wait(ctx, r.fate.After, nil, broken)
}

const never time.Duration = -1

// wait waits for d or until done is closed, whichever is first. d may be never and done nil.
// The error is that ctx or the connection ended first. If done is closed at the same moment,
// there is no error.
func (s *Server) wait(ctx context.Context, d time.Duration, done, broken <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	if d == 0 {
		return nil
	}
	var elapsed <-chan time.Time
	if d > 0 {
		elapsed = s.clock.After(d)
	}
	select {
	case <-done:
		return nil
	case <-elapsed:
		return nil
	case <-ctx.Done():
	case <-broken:
	}
	select {
	case <-done:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrConnReset
}

// enqueue keeps the queue in order of arrival, then of sending. s.mu is held.
func (s *Server) enqueue(r *request) {
	i := len(s.queue)
	for i > 0 && s.queue[i-1].due.After(r.due) {
		i--
	}
	s.queue = slices.Insert(s.queue, i, r)
}

// advance executes the requests that are due at now, each as of its own moment. While the
// server hangs, they wait in the socket's buffer. s.mu is held.
func (s *Server) advance(now time.Time) {
	for !s.hung && len(s.queue) > 0 && !s.queue[0].due.After(now) {
		r := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		at := r.due
		if s.resumed.After(at) {
			at = s.resumed
		}
		s.answer(r, at)
		close(r.done)
	}
}

// answer executes one request at the moment at. s.mu is held.
func (s *Server) answer(r *request, at time.Time) {
	wall := at.Add(s.offset)
	switch {
	case r.fate.Err != nil:
		r.vote = wire.Vote{Err: r.fate.Err}
	case r.cmd.Op == 0:
		r.id = s.identity(wall)
		r.vote.Err = s.leaveMark(&r.id, r.before, wall)
	default:
		r.vote = s.data.RunIn(s.identity(wall), r.cmd, wall)
	}
	if r.cmd.Op == 0 {
		return
	}
	if len(s.log) >= 2*maxLog {
		s.log = slices.Delete(s.log, 0, maxLog)
	}
	s.log = append(s.log, Entry{At: at, Request: r.cmd, Vote: r.vote})
}

func (s *Server) identity(wall time.Time) wire.Identity {
	id := wire.Identity{
		RunID:       s.runID,
		ReplID:      s.replID,
		Promoted:    s.promoted,
		Uptime:      max(0, wall.Sub(s.started).Truncate(time.Second)),
		Served:      unset,
		Role:        "master",
		Persistence: "none",
		Eviction:    "noeviction",
		Server:      "quorumtest",
		Version:     "1",
		Clock:       time.UnixMicro(wall.UnixMicro()),
	}
	if s.edit != nil {
		s.edit(&id)
	}
	// The mark that is there now, before a Probe has left another one.
	if (id.Served >= 0 || id.Served == unset) && id.Run() != "" {
		id.Mark = s.mark.Of(id)
	}
	return id
}

// unset is an Identity.Served that SetIdentity has not edited.
const unset = -time.Hour

// leaveMark leaves the mark of a Probe.
func (s *Server) leaveMark(id *wire.Identity, before wire.Known, wall time.Time) error {
	if id.RunID == "" && id.ReplID == "" || id.Role != "" && id.Role != wire.RoleMaster {
		if id.Served == unset {
			id.Served = -1 // only a master has a mark
		}
		return nil
	}
	if id.Served < 0 && id.Served != unset {
		return nil
	}
	served := id.Served
	err := s.mark.Probe(id, before, wall)
	if served != unset {
		id.Served = served
	}
	return err
}

// Hang stops the server as a SIGSTOP does: connections stay, requests wait in the socket's
// buffer, and nothing is executed or answered.
func (s *Server) Hang() {
	s.lock()
	defer s.mu.Unlock()
	s.hung = true
}

// Resume ends Hang. The waiting requests are executed now, in order, each with its full TTL,
// also those of callers that have given up.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.hung, s.resumed = false, now
	s.advance(now)
}

// Kill ends the server. Waiting callers get ErrConnReset, requests on their way or in the
// socket's buffer are lost, and later requests get ErrConnRefused, Unsent.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

// Start starts a server that was killed, with its data or without. It has a new run ID and
// replication ID, no uptime, and a new connection. A server that is up stays as it is.
func (s *Server) Start(keepData bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		s.up(keepData)
	}
}

// Restart is Kill and Start.
func (s *Server) Restart(keepData bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	s.up(keepData)
}

// Reconnect breaks the connection, and the server stays as it is. Waiting callers get
// ErrConnReset. Requests that were sent before are still executed.
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	close(s.broken)
	s.subscriptions.Break(ErrConnReset)
	s.broken = make(chan struct{})
}

func (s *Server) kill() {
	if s.down {
		return
	}
	s.advance(s.clock.Now())
	s.down, s.hung, s.queue = true, false, nil
	close(s.broken)
	s.subscriptions.Break(ErrConnReset)
}

// Promote makes the server a master again, as if it had been a replica for a while: the same
// process with another replication ID. Its data stays.
func (s *Server) Promote() {
	s.lock()
	defer s.mu.Unlock()
	s.replID, s.promoted = newID(), true
}

// Attach makes the server a master whose first replica has connected: the replication ID
// changes.
func (s *Server) Attach() {
	s.lock()
	defer s.mu.Unlock()
	s.replID = newID()
}

// clear deletes all data.
func (s *Server) clear() {
	s.data, s.mark = memory.NewData(), memory.Mark{}
	s.data.Notify = s.notify
}

// up begins a run of the server.
func (s *Server) up(keepData bool) {
	if !keepData {
		s.clear()
	}
	s.runID, s.replID, s.promoted = newID(), newID(), false
	s.down, s.broken = false, make(chan struct{})
	s.started = s.clock.Now().Add(s.offset)
}

// newID draws a run ID or a replication ID.
func newID() string {
	var id [20]byte
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(id[:])
}

// StepClock moves the server's wall clock by d, forward or back. Keys expire by that clock.
func (s *Server) StepClock(d time.Duration) {
	s.lock()
	defer s.mu.Unlock()
	s.offset += d
}

// SetIdentity sets a function that edits each Identity before Probe returns it: to hide a
// field, to make the server a replica, or to give it the run ID of another server. The Run of
// a request is compared with the edited identity. Identity.Served belongs to the edited run,
// unless the function sets it. Nil ends that.
func (s *Server) SetIdentity(edit func(*wire.Identity)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = edit
}

// OnCommand sets a function that is called with every request before it is sent, on the
// caller's goroutine: to make something happen at an exact moment, or to hold the request
// back. It may call the server's methods. Nil ends that.
func (s *Server) OnCommand(hook func(wire.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}
