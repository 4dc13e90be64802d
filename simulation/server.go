package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// server is one server. Its keys expire by its own wall clock.
type server struct {
	w     *world
	index int
	name  string

	wall        kernel.Linear
	data        redismodel.Database
	lost        int64  // the true time at which it last lost data, -1 before
	incarnation uint64 // counts its incarnations from 1
	up          bool
	started     int64  // by its own wall clock
	id          string // the run ID
	replID      string
	promoted    bool        // it was a replica before
	mark        memory.Mark // see wire.Identity.Served
	trouble     int64       // the true time of its last fault, -1 before the first

	hungUntil int64
	waiting   []*request // while it hangs

	second    *server // that its address leads some processes to, see SplitBrain and Switch; nil without one
	secondFor string  // which processes, as Fault.Process

	subscriptions map[string]*subscription // by address
	notifications []func()                 // that the command that is being executed sends

	log      []entry     // all changes since the data was empty
	reached  []int64     // by replica: when the last change arrives
	blocked  []*withheld // answers that wait for replicas
	fellBack bool        // semi-synchronous replication is asynchronous for now

	shown map[string]int64 // until when each key lasts, as the log of the run has it
}

// entry is one change in a server's log, for its disk and its replicas.
type entry struct {
	at      int64 // true time
	repeat  func(*server)
	arrived []int64 // by replica: when it arrives there, or never
}

// withheld is an answer that waits for replicas.
type withheld struct {
	r      *request
	over   bool
	answer func() *answer // as it is then
}

// serverAge is how long servers have been up at the start: longer than any quarantine. A Restart at the
// start makes them young.
const serverAge = time.Hour

func newServer(w *world, index int, name string) *server {
	s := &server{
		w: w, index: index, name: name, wall: kernel.Linear{Value: kernel.Epoch}, lost: -1, trouble: -1,
		started: kernel.Epoch - int64(serverAge), reached: make([]int64, w.cfg.Replicas),
		data: redismodel.New(w.cfg.Scripts), subscriptions: map[string]*subscription{}, shown: map[string]int64{},
	}
	s.begin()
	s.connectNotify()
	return s
}

// server returns the server that a process reaches at a place.
func (p *process) server(place int) *server {
	s := p.w.servers[place]
	if s.second != nil && fault.Matches(s.secondFor, p.Name) {
		return s.second
	}
	return s
}

// connectNotify makes the data notify waiters. Data that is being rebuilt notifies none.
func (s *server) connectNotify() { s.data.Notify = s.notify }

// notify queues a notification of a waiter. It returns false if the waiter has no
// subscription. The server can't know whether the notification arrives.
func (s *server) notify(waiter, key string) bool {
	e := s.subscriptions[waiter]
	if e == nil || e.closed {
		return false
	}
	s.notifications = append(s.notifications, func() {
		kind := record.NotificationLost
		if e.notify(key) {
			kind = record.NotificationSent
		}
		s.w.event(kind, e.p.Name, s.name).Key = key
	})
	return true
}

func (s *server) clock() time.Time { return time.Unix(0, s.wall.At(s.w.Now.Load())).UTC() }

func (s *server) identity() *wire.Identity {
	now := s.wall.At(s.w.Now.Load())
	id := &wire.Identity{
		RunID:       s.id,
		ReplID:      s.replID,
		Promoted:    s.promoted,
		Uptime:      max(0, time.Duration(now-s.started).Truncate(time.Second)),
		Role:        wire.RoleMaster,
		Persistence: "none",
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

// kill stops the server. Clients that wait for a reply get an error.
func (s *server) kill() {
	if !s.up {
		return
	}
	s.up, s.hungUntil = false, 0
	for _, r := range s.waiting {
		r.reply(failed(ErrReset, false))
	}
	for _, b := range s.blocked {
		b.over = true
		b.r.reply(failed(ErrReset, false))
	}
	s.waiting, s.blocked = nil, nil
	for _, e := range sorted(s.subscriptions) {
		if !e.closed {
			e.reset()
		}
	}
	clear(s.subscriptions)
	for _, p := range s.w.processes {
		for i := range s.w.servers {
			if p.server(i) == s {
				p.link(i).incarnation = 0
			}
		}
	}
}

// recovers ends a fault of the server at a moment, if restore does not find that another
// fault has come between.
func (s *server) recovers(at int64, restore func() bool) {
	s.w.Ahead(at, nil, func() {
		if restore() {
			s.trouble = max(s.trouble, s.w.Now.Load())
			s.w.event(record.Back, "", s.name)
			s.showLost()
		}
	})
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

// show adds a key's state to an event. showAll corrects states that change without a
// command.
func (s *server) show(e *record.Event, key string) {
	s.shown[key] = s.until(key)
	e.Keys = append(e.Keys, record.KeyState{Key: key, Until: time.Duration(s.shown[key])})
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
		s.w.count("a server lost acknowledged writes")
	}
}
