package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// What a call fails with, for errors.Is.
var (
	// ErrRefused: the server is down. The command was not sent.
	ErrRefused = errors.New("simulation: connection refused")
	// ErrReset: the connection broke while the answer was awaited. The command
	// may have been carried out.
	ErrReset = errors.New("simulation: connection reset")
	// ErrCrashed: the process that called has crashed, and only its remains run.
	ErrCrashed = errors.New("simulation: the process has crashed")
)

// server is one instance: data whose keys expire by a wall clock of its own.
type server struct {
	w     *world
	index int
	name  string

	wall    line
	data    []database // by number
	log     []entry    // what changed the data since it was empty, for restarts
	life    uint64     // counts its lives from 1
	up      bool
	started int64 // by its own wall clock

	hungUntil int64
	waiting   []*request // in its socket while it hangs
}

// entry is one command in the log.
type entry struct {
	at       int64 // true time
	wall     time.Time
	database int
	cmd      quorum.Command
	raw      *rawCommand // nil: cmd
}

func newServer(w *world, index int, name string) *server {
	s := &server{w: w, index: index, name: name, wall: line{value: epoch}, data: w.databases(), up: true, life: 1}
	s.started = epoch - int64(w.cfg.ServerAge)
	return s
}

func (s *server) clock() time.Time { return time.Unix(0, s.wall.at(s.w.now.Load())).UTC() }

// receive takes in a request that has arrived.
func (s *server) receive(r *request) {
	c := r.call
	link := c.link()
	switch {
	case !s.up && r.life == 0:
		r.reply(&answer{vote: quorum.Vote{Err: ErrRefused, Unsent: true}})
		return
	case !s.up || r.life != 0 && r.life != s.life:
		// It came on a connection to an earlier life, which this one doesn't know.
		link.lose(r.life)
		r.reply(&answer{vote: quorum.Vote{Err: ErrReset}})
		return
	case s.hungUntil > s.w.now.Load():
		s.waiting = append(s.waiting, r)
		return
	}
	if r.life == 0 && link.life != s.life {
		link.life = s.life
		link.epoch++
	}
	if c.probe {
		r.reply(&answer{id: s.identity()})
		return
	}
	if c.raw != nil {
		r.reply(&answer{raw: s.command(c)})
		return
	}
	r.reply(&answer{vote: s.run(c)})
}

// databases makes empty ones, as many as aliases ask for.
func (w *world) databases() []database {
	n := 1
	for _, a := range w.cfg.Aliases {
		n = max(n, a.Database+1)
	}
	all := make([]database, n)
	for i := range all {
		all[i] = newDatabase()
	}
	return all
}

// command carries out one of Redis's own commands.
func (s *server) command(c *call) Reply {
	w, now := s.w, s.clock()
	db := w.places[c.place].database
	reply := s.data[db].do(c.raw.args, now)
	s.log = append(s.log, entry{at: w.now.Load(), wall: now, database: db, raw: c.raw})
	line := w.trace.at(w.now.Load(), s.name).s(c.name).nth(c.p.name, c.seq)
	switch {
	case reply.Err != nil:
		line.s("error")
	case reply.Null:
		line.s("null")
	case reply.Text == "OK":
		line.s("ok")
	case reply.Text != "":
		line.s("text")
	default:
		line.n("int", reply.Int)
	}
	line.end()
	return reply
}

func (s *server) run(c *call) quorum.Vote {
	w, now := s.w, s.clock()
	db := w.places[c.place].database
	data := s.data[db]
	if w.cfg.Forgetful && c.cmd.Op == quorum.Acquire {
		data.Delete(c.cmd.Key, now)
	}
	vote := data.Run(c.cmd, now)
	if vote.Outcome == quorum.Granted && c.cmd.Op != quorum.Look && c.cmd.Op != quorum.Tick {
		s.log = append(s.log, entry{at: w.now.Load(), wall: now, database: db, cmd: c.cmd})
	}
	line := w.trace.at(w.now.Load(), s.name).s(c.cmd.Op.String()).nth(c.p.name, c.seq).s(vote.Outcome.String())
	if vote.Token != 0 {
		line.n("token", int64(vote.Token))
	}
	line.end()
	w.votes[c.cmd.Op][vote.Outcome]++
	return vote
}

func (s *server) identity() *quorum.Identity {
	now := s.wall.at(s.w.now.Load())
	persistence := map[Keep]string{KeepNothing: "none", KeepSecond: "aof everysec", KeepAll: "aof always"}[s.w.cfg.Persistence]
	return &quorum.Identity{
		RunID:       fmt.Sprintf("%016x", draw(s.w.seed, tagRunID, uint64(s.index), s.life)),
		Uptime:      max(0, time.Duration(now-s.started).Truncate(time.Second)),
		Role:        "master",
		Durable:     s.w.cfg.Persistence == KeepAll,
		Persistence: persistence,
		Eviction:    "noeviction",
		Server:      "simulation",
		Version:     "1",
		Dialect:     "simulation",
		Clock:       time.UnixMicro(now / 1000),
	}
}

// kill ends the server's life. Who waits for an answer from its socket is told.
func (s *server) kill() {
	if !s.up {
		return
	}
	s.up, s.hungUntil = false, 0
	s.disconnect()
}

func (s *server) disconnect() {
	for _, r := range s.waiting {
		r.reply(&answer{vote: quorum.Vote{Err: ErrReset}})
	}
	s.waiting = nil
	for _, p := range s.w.processes {
		for i, place := range s.w.places {
			if place.server == s {
				p.links[i].life = 0
			}
		}
	}
}

// revive begins another life with what was kept.
func (s *server) revive(until int64) {
	if s.up {
		return
	}
	s.up = true
	s.life++
	s.recall(until)
	s.started = s.wall.at(s.w.now.Load())
}

// failOver puts a replica in the server's place that knows what was done up to
// a moment. It has been up as long as the server was.
func (s *server) failOver(until int64) {
	s.kill()
	s.up = true
	s.life++
	s.recall(until)
}

// recall makes the data anew from the log up to a moment.
func (s *server) recall(until int64) {
	s.data = s.w.databases()
	kept := s.log[:0]
	for _, e := range s.log {
		if e.at <= until {
			s.data[e.database].repeat(e)
			kept = append(kept, e)
		}
	}
	s.log = kept
}

// keeps reports whether the place has the lease's key up to the true time until,
// as things stand now.
func (p place) keeps(h *holding, until int64) bool {
	value, expires, ok := p.server.data[p.database].Holder(h.key, p.server.clock())
	return ok && value == h.value && (expires.IsZero() || p.server.wall.when(expires.UnixNano()) >= until)
}

// repeat carries out what the log has.
func (d database) repeat(e entry) {
	if e.raw != nil {
		d.do(e.raw.args, e.wall)
		return
	}
	d.Run(e.cmd, e.wall)
}

// until is the last moment whose commands are on disk now.
func (k Keep) until(now int64) int64 {
	switch k {
	case KeepAll:
		return now
	case KeepSecond:
		return now - now%int64(time.Second)
	default:
		return -1
	}
}

// wake ends a hang: what waited is carried out.
func (s *server) wake() {
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		s.receive(r)
	}
}
