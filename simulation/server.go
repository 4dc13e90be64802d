package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// The errors of calls, for errors.Is.
var (
	// ErrRefused: the server is down. The command was not sent.
	ErrRefused = errors.New("simulation: connection refused")
	// ErrReset: the connection broke before the reply arrived. The command may have been
	// executed.
	ErrReset = errors.New("simulation: connection reset")
	// ErrCrashed: the calling process has crashed, and only its goroutines remain.
	ErrCrashed = errors.New("simulation: the process has crashed")
)

// server is one server. Its keys expire by its own wall clock.
type server struct {
	w     *world
	index int
	name  string

	wall        kernel.Linear
	data        redismodel.Database
	lost        int64   // the true time at which it last lost data, -1 before
	log         []entry // all changes since the data was empty, if w.logs
	incarnation uint64  // counts its incarnations from 1
	up          bool
	started     int64  // by its own wall clock
	id          string // the run ID
	replID      string
	promoted    bool        // it was a replica before
	mark        memory.Mark // see wire.Identity.Served
	marked      int64       // the true time at which it was written
	trouble     int64       // the true time of its last fault, -1 before the first

	hungUntil int64
	waiting   []*request // received while it hangs

	second    *server // that its address leads some processes to, see SplitBrain and Switch; nil without one
	secondFor string  // which processes, as Fault.Process

	subscriptions map[string]*subscription // by address
	notifications []notification           // of the command that is being executed

	reached  []int64          // by replica: when the last change arrives
	blocked  []*withheld      // answers that wait for replicas
	fellBack bool             // semi-synchronous replication is asynchronous for now
	shown    map[string]int64 // until when each key lasts, as the log has it
}

func newServer(w *world, index int, name string) *server {
	s := &server{w: w, index: index, name: name, wall: kernel.Linear{Value: kernel.Epoch}, data: redismodel.New(w.scripts), lost: -1, trouble: -1}
	s.begin()
	s.started = kernel.Epoch - int64(w.cfg.ServerAge)
	s.reached = make([]int64, w.cfg.Replicas)
	s.connectNotify()
	return s
}

// connectNotify makes the data notify waiters. Data that is being rebuilt notifies none.
func (s *server) connectNotify() { s.data.Notify = s.notify }

func (s *server) clock() time.Time { return time.Unix(0, s.wall.At(s.w.Now.Load())).UTC() }

// receive handles a request that has arrived.
func (s *server) receive(r *request) {
	c := r.call
	link := c.link()
	switch {
	case !s.up && r.incarnation == 0:
		r.reply(failed(ErrRefused, true))
		return
	case !s.up || r.incarnation != 0 && r.incarnation != s.incarnation:
		// It came on a connection to an earlier incarnation, which this one doesn't know.
		r.reply(failed(ErrReset, false))
		return
	}
	if s.hungUntil > s.w.Now.Load() {
		s.waiting = append(s.waiting, r)
		return
	}
	if c.sub != nil {
		s.accept(r)
		return
	}
	if r.incarnation == 0 && link.incarnation != s.incarnation && !r.again {
		link.incarnation, link.wrote = s.incarnation, 0
	}
	switch {
	case c.probe:
		id := s.identity()
		if err := s.leaveMark(id, c.known); err != nil {
			r.reply(failed(err, false))
			return
		}
		r.reply(&answer{id: id})
	case c.raw != nil && c.name == "wait":
		s.wait(r)
	case c.raw != nil:
		reply := s.command(r)
		s.answer(r, &answer{raw: &reply}, reply.Err == nil && redismodel.Writes(c.raw))
	default:
		vote := s.run(c)
		s.answer(r, &answer{vote: vote}, vote.Outcome == wire.Granted && changes(c.cmd.Op))
	}
}

// changes reports whether an operation that was granted has changed data.
func changes(op wire.Op) bool { return op != wire.Look && op != wire.Tick }

// partly reports whether an operation changes data even if it isn't granted: an acquisition counts, and of
// several keys some may be set, extended or released although the others aren't.
func partly(cmd *wire.Request) bool {
	return cmd.Op == wire.Acquire || len(cmd.Keys) > 1 && (cmd.Op == wire.Extend || cmd.Op == wire.Release)
}

// expires reports whether an operation changes a key's end.
func expires(op wire.Op) bool {
	return op == wire.Acquire || op == wire.Extend || op == wire.Restore || op == wire.Pass || op == wire.Release
}

// command executes one of Redis's own commands.
func (s *server) command(r *request) redismodel.Reply {
	c, now := r.call, s.clock()
	reply := s.data.Do(c.raw, now)
	e := s.answered(record.Answered, c, c.name, reply.Outcome())
	e.Value = reply.Int
	for _, key := range redismodel.Keys(c.raw) {
		s.show(e, key)
	}
	if reply.Err == nil && redismodel.Writes(c.raw) {
		s.append(entry{repeat: func(d redismodel.Database) { d.Do(c.raw, now) }}, c.link())
	}
	return reply
}

// run executes one of the library's commands.
func (s *server) run(c *call) wire.Vote {
	w, now := s.w, s.clock()
	id := s.identity()
	id.Mark = s.mark.Of(*id)
	change := s.changeOf(c)
	vote := s.data.RunIn(*id, c.cmd, now)
	words := vote.Outcome.String()
	if errors.Is(vote.Err, wire.ErrOtherRun) {
		w.count(otherRun)
		words = "failed other-run"
		if c.cmd.Op != wire.Acquire {
			s.answered(record.Answered, c, c.cmd.Op.String(), words)
			return vote
		}
	}
	e := s.answered(record.Voted, c, c.cmd.Op.String(), words)
	e.Token, e.Change = vote.Token, s.changed(change)
	if vote.Outcome == wire.Granted && changes(c.cmd.Op) || partly(&c.cmd) {
		if expires(c.cmd.Op) {
			for _, key := range c.cmd.Keys {
				s.show(e, key)
			}
		}
		s.append(entry{repeat: func(d redismodel.Database) { d.Run(c.cmd, now) }}, c.link())
	}
	s.sendNotifications()
	if vote.Low {
		w.count(lowVote)
	}
	if vote.Replaced {
		w.count(valueReplaced)
	}
	return vote
}

// show adds a key's state to an event. showAll corrects states that change without a
// command.
func (s *server) show(e *record.Event, key string) {
	until := s.until(key)
	if s.shown == nil {
		s.shown = make(map[string]int64, 2)
	}
	s.shown[key] = until
	e.Keys = append(e.Keys, record.KeyState{Key: key, Until: time.Duration(until)})
}

// gone is the end, in true time, of a key that doesn't exist.
const gone = int64(record.Gone)

func (s *server) until(key string) int64 {
	_, expires, ok := s.data.Keys.Get(key, s.clock())
	switch {
	case !ok:
		return gone
	case expires.IsZero():
		return kernel.Never
	}
	return s.wall.When(expires.UnixNano())
}

// showAll logs the keys whose expiry differs from the logged one, and counts keys that
// have expired earlier.
func (s *server) showAll() (lost int) {
	for _, key := range slices.Sorted(maps.Keys(s.shown)) {
		now := s.w.Now.Load()
		was, is := s.shown[key], s.until(key)
		if was == is || was <= now && is == gone {
			continue
		}
		s.show(s.w.event(record.KeyChanged, "", s.name), key)
		if is == gone {
			lost++
		}
	}
	return lost
}

// showLost is showAll after a moment at which the server may have lost data.
func (s *server) showLost() {
	if s.showAll() > 0 {
		s.w.count(writesLost)
	}
}

// leaveMark sets the mark of a Probe, which is part of the data.
func (s *server) leaveMark(id *wire.Identity, before wire.Known) error {
	id.Served = -1
	if s.w.cfg.HideRunID {
		return nil
	}
	mark := s.mark
	if err := mark.Probe(id, before, s.clock()); err != nil {
		return err
	}
	if mark != s.mark {
		s.setMark(mark)
	}
	return nil
}

func (s *server) setMark(m memory.Mark) {
	now := s.w.Now.Load()
	s.mark, s.marked = m, now
	s.append(entry{mark: &m}, nil)
}

func (s *server) identity() *wire.Identity {
	now := s.wall.At(s.w.Now.Load())
	id := &wire.Identity{
		RunID:       s.id,
		ReplID:      s.replID,
		Promoted:    s.promoted,
		Uptime:      max(0, time.Duration(now-s.started).Truncate(time.Second)),
		Role:        wire.RoleMaster,
		Persistence: s.w.cfg.Persistence.Words(),
		Eviction:    s.w.cfg.Eviction,
		Server:      "simulation",
		Version:     "1",
		Clock:       time.UnixMicro(now / 1000),
	}
	if s.w.cfg.HideRunID {
		id.RunID, id.ReplID, id.Promoted, id.Hidden = "", "", false, []string{"run ID and replication ID: the simulation hides them"}
	}
	return id
}

// kill stops the server. Clients that wait for a reply get an error.
func (s *server) kill() {
	if !s.up {
		return
	}
	s.up, s.hungUntil = false, 0
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		r.reply(failed(ErrReset, false))
	}
	s.resetBlocked()
	s.breakSubscriptions()
	for _, p := range s.w.processes {
		for i := range s.w.servers {
			if p.server(i) == s {
				p.links[i].incarnation = 0
			}
		}
	}
}

// begin starts an incarnation: the first one, the one after a restart, or that of a replica that was
// promoted. What a server is known by changes here and nowhere else.
func (s *server) begin() {
	s.up = true
	s.incarnation++
	s.id, s.replID, s.promoted = s.drawID(0), s.drawID(1), false
}

func (s *server) drawID(n uint64) string {
	return fmt.Sprintf("%016x", kernel.Draw(s.w.Seed, kernel.TagRunID, uint64(s.index), s.incarnation, n))
}

// restart starts another incarnation of a server that is down, with the log up to a moment.
func (s *server) restart(until int64) bool {
	if s.up {
		return false
	}
	s.begin()
	s.recall(func(e entry) bool { return e.at <= until })
	s.started = s.wall.At(s.w.Now.Load())
	return true
}

// promote starts the incarnation of a replica in the server's place, with the data that
// had reached it when the server stopped. Its uptime is that of the server.
func (s *server) promote(replica int, ended, until int64) bool {
	if s.up {
		return false
	}
	s.begin()
	replica = max(0, replica-1)
	s.recall(func(e entry) bool { return e.at <= until && (len(e.arrived) == 0 || e.arrived[replica] <= ended) })
	s.promoted = true
	// The others copy what it has.
	now := s.w.Now.Load()
	for i := range s.log {
		for j := range s.log[i].arrived {
			s.log[i].arrived[j] = min(now, s.log[i].arrived[j])
		}
	}
	for j := range s.reached {
		s.reached[j] = now
	}
	s.fellBack = false
	return true
}

// recall rebuilds the data from the log.
func (s *server) recall(kept func(entry) bool) {
	s.data, s.lost, s.mark = redismodel.New(s.w.scripts), s.w.Now.Load(), memory.Mark{}
	all := s.log
	s.log = s.log[:0]
	for _, e := range all {
		if kept(e) {
			s.repeat(e)
			s.log = append(s.log, e)
		}
	}
	s.connectNotify()
}

// wake ends a hang: the waiting requests are executed.
func (s *server) wake() bool {
	if !s.up || s.hungUntil > s.w.Now.Load() {
		return false
	}
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		s.receive(r)
	}
	return true
}

// answered logs a server's reply to a call.
func (s *server) answered(kind record.EventKind, c *call, op, outcome string) *record.Event {
	e := s.w.event(kind, c.p.Name, s.name)
	e.N, e.Op, e.Words = c.seq, op, outcome
	return e
}

// recovers ends a fault of the server at a moment, if restore does not find that another
// fault has come between.
func (s *server) recovers(at int64, restore func() bool) {
	s.w.Schedule(at, func() {
		if restore() {
			s.trouble = max(s.trouble, s.w.Now.Load())
			s.w.event(record.Back, "", s.name)
			s.showLost()
		}
	})
}
