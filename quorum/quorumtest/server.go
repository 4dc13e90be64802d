package quorumtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/quorum/wire"
)

// Server is a server in memory and the connection to it: a wire.Instance.
// Its keys expire by its own wall clock, and it can be made to hang, to die, to
// forget, to lie, and to lose what is sent to it.
//
// It has no goroutines: what is due happens when somebody next looks, as of
// the moment when it was due. So it can be used in a testing/synctest bubble,
// and left without being closed. Its methods may be called from many
// goroutines at once.
type Server struct {
	name  string
	clock clock.Clock

	mu    sync.Mutex // never held while anything is waited for
	data  *Data
	queue []*request // under way or in the socket's buffer, by due, then in order of sending
	log   []Entry
	seq   uint64

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
	mark     Mark          // of the clients that came by the server's name
	broken   chan struct{} // closed when the connection breaks
	down     bool

	subscriptions     map[string]*subscription // by their addresses
	subscribed        int                      // how many were ever opened
	loseNotifications bool
	cannotNotify      error // why Subscribe fails
}

// request is a command on its way, or a probe if cmd is zero.
type request struct {
	cmd    wire.Request
	waiter wire.Waiter // of Enqueue and Dequeue
	before wire.Known  // of a probe
	fate   Fate
	due    time.Time // when it arrives at the server

	// Written once, by the server, before done is closed.
	vote wire.Vote
	id   wire.Identity
	done chan struct{}
}

// Entry is a command that the server has carried out, or answered with an error.
type Entry struct {
	// Seq counts the server's commands from 1, over its restarts.
	Seq uint64
	// At is when, by the clock that was given to NewServer.
	At time.Time
	// Request and Vote are what was asked and answered, whether or not the
	// answer arrived.
	Request wire.Request
	Vote    wire.Vote
	// Waiter is who was enqueued or dequeued. The Request has the operation and the key.
	Waiter wire.Waiter
}

// maxLog is how many entries a Server remembers at least.
const maxLog = 1 << 16

// NewServer starts a server without data. It tells the time by clk; nil is the
// real clock, or the virtual one inside a testing/synctest bubble. Its name counts as
// used from then on (Identity.Served); for each later run, from that run's first Probe.
func NewServer(name string, clk clock.Clock) *Server {
	if clk == nil {
		clk = clock.New()
	}
	s := &Server{name: name, clock: clk}
	s.clear()
	s.up()
	s.mark = NewMark(wire.Identity{RunID: s.runID, ReplID: s.replID}, s.started)
	return s
}

// Name names the server, as it was given to NewServer.
func (s *Server) Name() string { return s.name }

// Send sends a command, see wire.Instance.
func (s *Server) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	wire.SendBlocking(s.clock, s.Do, cmd, timeout, to)
}

// Do sends a command and waits for its vote, or for ctx's end.
func (s *Server) Do(ctx context.Context, cmd wire.Request) wire.Vote {
	return s.do(ctx, cmd, wire.Waiter{})
}

func (s *Server) do(ctx context.Context, cmd wire.Request, w wire.Waiter) wire.Vote {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(cmd)
	}
	r, vote := s.send(ctx, &request{cmd: cmd, waiter: w})
	if vote.Err == nil {
		vote = r.vote
	}
	return vote
}

// ConnLife is 0: the name never leads to another server.
func (s *Server) ConnLife() time.Duration { return 0 }

// Probe asks the server who it is, see wire.Instance.
func (s *Server) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	r, vote := s.send(ctx, &request{before: before})
	if vote.Err == nil {
		vote = r.vote
	}
	if vote.Err != nil {
		return wire.Identity{}, vote.Err
	}
	return r.id, nil
}

// send brings a request to the server and waits for its answer. The request is
// answered if the vote has no Err; otherwise the vote says how it failed.
func (s *Server) send(ctx context.Context, r *request) (*request, wire.Vote) {
	if ctx.Err() != nil {
		return nil, wire.Vote{Err: context.Cause(ctx), Unsent: true}
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

	switch {
	case refused:
		return nil, wire.Vote{Err: ErrConnRefused, Unsent: true}
	case r.fate.End == ResetBefore:
		if failed := s.wait(ctx, r.fate.Before, nil, broken); failed != nil {
			return nil, wire.Vote{Err: failed}
		}
		return nil, wire.Vote{Err: ErrConnReset}
	}

	// Arrival. A request that is lost has no end but ctx's or the connection's.
	if failed := s.wait(ctx, r.fate.Before, r.done, broken); failed != nil {
		return nil, wire.Vote{Err: failed}
	}
	s.mu.Lock()
	s.advance(s.clock.Now())
	s.mu.Unlock()
	if failed := s.wait(ctx, never, r.done, broken); failed != nil {
		return nil, wire.Vote{Err: failed}
	}

	// The way back.
	switch r.fate.End {
	case LoseReply:
		return nil, wire.Vote{Err: s.wait(ctx, never, nil, broken)}
	case ResetAfter:
		return nil, wire.Vote{Err: ErrConnReset}
	}
	if failed := s.wait(ctx, r.fate.After, nil, broken); failed != nil {
		return nil, wire.Vote{Err: failed}
	}
	return r, wire.Vote{}
}

const never time.Duration = -1

// wait waits for d or until done is closed, whichever is first; d may be never
// and done nil. The error says what came before: the end of ctx or of the
// connection. What is done is done, even at the very moment of the end.
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

// enqueue keeps the queue in order of arrival, and of sending where that is
// equal. s.mu is held.
func (s *Server) enqueue(r *request) {
	i := len(s.queue)
	for i > 0 && s.queue[i-1].due.After(r.due) {
		i--
	}
	s.queue = slices.Insert(s.queue, i, r)
}

// advance carries out all that is due at now, each as of its own moment. A hung
// server carries nothing out: its requests wait in the socket's buffer.
// s.mu is held.
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

// answer carries out one request at the moment at. s.mu is held.
func (s *Server) answer(r *request, at time.Time) {
	wall := at.Add(s.offset)
	switch {
	case r.fate.Err != nil:
		r.vote = wire.Vote{Err: r.fate.Err}
	case r.cmd.Op == 0:
		r.id = s.identity(wall)
		s.leaveMark(&r.id, r.before, wall)
	default:
		if other := OtherRun(r.cmd, s.identity(wall)); other != nil {
			r.vote = wire.Vote{Unsent: true, Err: other}
		} else {
			r.vote = s.data.RunFor(r.waiter, r.cmd, wall)
		}
	}
	if r.cmd.Op == 0 {
		return
	}
	if len(s.log) >= 2*maxLog {
		s.log = slices.Delete(s.log, 0, maxLog)
	}
	s.seq++
	s.log = append(s.log, Entry{Seq: s.seq, At: at, Request: r.cmd, Waiter: r.waiter, Vote: r.vote})
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
		Dialect:     "memory",
		Clock:       time.UnixMicro(wall.UnixMicro()),
	}
	if s.edit != nil {
		s.edit(&id)
	}
	// The mark that is there now, before a Probe has left another one.
	if (id.Served >= 0 || id.Served == unset) && id.Run() != "" {
		id.Epoch = s.mark.Epoch(id)
	}
	return id
}

// unset is an Identity.Served that nobody has edited.
const unset = -time.Hour

// leaveMark is what a Probe does beside asking, as the mark's script does it: see there.
func (s *Server) leaveMark(id *wire.Identity, before wire.Known, wall time.Time) {
	if id.RunID == "" && id.ReplID == "" || id.Role != "" && id.Role != wire.RoleMaster {
		if id.Served == unset {
			id.Served = -1 // the mark is of a master's run
		}
		return
	}
	if id.Served < 0 && id.Served != unset {
		return
	}
	served := id.Served
	s.mark.Probe(id, before, wall)
	if served != unset {
		id.Served = served
	}
}

// Hang stops the server as a SIGSTOP does: connections stay, commands are
// taken into the socket's buffer, and nothing is carried out or answered.
func (s *Server) Hang() {
	s.lock()
	defer s.mu.Unlock()
	s.hung = true
}

// Resume ends Hang. All that was sent meanwhile is carried out now, in order
// and each SET with its full TTL, also for callers that have given up.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.hung, s.resumed = false, now
	s.advance(now)
}

// Kill ends the server: callers that wait get ErrConnReset, what is in the
// socket's buffer or on its way is lost, later commands get ErrConnRefused,
// Unsent.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

// Start starts a server that was killed, with the data that it had, or without.
// It has a new run ID and replication ID, no uptime, and a new connection. A server
// that is up stays as it is.
func (s *Server) Start(keepData bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		s.start(keepData)
	}
}

// Restart is Kill and Start.
func (s *Server) Restart(keepData bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	s.start(keepData)
}

// Reconnect breaks the connection to a server that stays as it is. Callers
// that wait get ErrConnReset; what was sent before is still carried out.
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	close(s.broken)
	s.breakSubscriptions()
	s.connect()
}

func (s *Server) kill() {
	if s.down {
		return
	}
	s.advance(s.clock.Now())
	s.down, s.hung, s.queue = true, false, nil
	close(s.broken)
	s.breakSubscriptions()
}

func (s *Server) start(keepData bool) {
	if !keepData {
		s.clear()
	}
	s.up()
}

// Promote makes the server what it is after it was a replica for a while: the same
// process with another replication ID. Its data stays as it is.
func (s *Server) Promote() {
	s.lock()
	defer s.mu.Unlock()
	s.replID, s.promoted = newID(), true
}

// Attach makes the server what it is after its first replica connected: the same master
// with another replication ID.
func (s *Server) Attach() {
	s.lock()
	defer s.mu.Unlock()
	s.replID = newID()
}

// clear forgets all data.
func (s *Server) clear() {
	s.data, s.mark = NewData(), Mark{}
	s.data.Notify = s.notify
}

// up begins a run of the server.
func (s *Server) up() {
	s.runID, s.replID, s.promoted = newID(), newID(), false
	s.down = false
	s.started = s.clock.Now().Add(s.offset)
	s.connect()
}

// newID draws a run ID or a replication ID.
func newID() string {
	var id [20]byte
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(id[:])
}

func (s *Server) connect() {
	s.broken = make(chan struct{})
}

// StepClock moves the server's wall clock by d, forward or back, as an operator
// or a time service does. Keys expire by that clock.
func (s *Server) StepClock(d time.Duration) {
	s.lock()
	defer s.mu.Unlock()
	s.offset += d
}

// SetIdentity sets what edits each Identity before Probe gives it: to hide a
// field, to make the server a replica, or to give it the RunID of another one. A
// command's Run is compared with what comes of it. Identity.Served is that of the run
// that comes of it, unless it is set. Nil leaves the truth.
func (s *Server) SetIdentity(edit func(*wire.Identity)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = edit
}

// OnCommand sets what is called with every command that is sent, before
// anything else becomes of it, from the caller's own goroutine: the place to
// change the world at an exact moment, or to hold a command back. It may call
// the server's methods. Nil ends it.
func (s *Server) OnCommand(hook func(wire.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// String names the server and says how it is.
func (s *Server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := "up"
	switch {
	case s.down:
		state = "down"
	case s.hung:
		state = "hung"
	}
	return fmt.Sprintf("%s (%s, %d keys)", s.name, state, len(s.data.Keys.List(s.clock.Now().Add(s.offset))))
}
