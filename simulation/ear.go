package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// errEarClosed is what an ear says after its process has closed it.
var errEarClosed = errors.New("simulation: the ear is closed")

// earLost is how long a process takes to find out that an ear's connection is dead
// though nobody has said so: as long as that of package instance, which asks
// the server after 5 s of silence and gives up after 5 s more.
const earLost = 10 * time.Second

var _ quorum.Listener = instance{}

// Listen opens an ear on a connection of its own. It is a request like others: it
// takes its time, may be lost, and waits for a server that hangs.
func (i instance) Listen(ctx context.Context) (quorum.Ear, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := &ear{p: i.p, place: i.place}
	e.news.L = &e.mu
	c := &call{p: i.p, place: i.place, name: "listen", ear: e, ctx: ctx}
	if err := c.do().vote.Err; err != nil {
		_ = e.Close() // the server may have it all the same
		return nil, err
	}
	return e, nil
}

// ear is a process's way for calls from one server.
type ear struct {
	p       *process
	place   int
	address string // set by the driver, before Listen returns

	mu    sync.Mutex
	news  sync.Cond
	calls []string
	why   error // of its end

	// Only the driver uses what follows.
	since  int64   // when the server took it in, in true time
	sent   uint64  // messages on its connection, both ways
	over   bool    // its process doesn't hear it any more
	at     *server // who has it, if its address has ever led to another one
	closed bool    // the server doesn't know it any more, or never will
}

func (e *ear) Address() string { return e.address }

func (e *ear) Hear() (key string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.calls) == 0 && e.why == nil {
		e.news.Wait()
	}
	if len(e.calls) == 0 {
		return "", e.why
	}
	key, e.calls = e.calls[0], e.calls[1:]
	return key, nil
}

func (e *ear) Close() error {
	e.end(errEarClosed)
	e.p.post(&hangUp{e})
	return nil
}

func (e *ear) end(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.why = cmp.Or(e.why, why)
	e.news.Broadcast()
}

func (e *ear) hear(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, key)
	e.news.Broadcast()
}

func (e *ear) server() *server {
	if e.at != nil {
		return e.at
	}
	return e.p.address(e.place)
}

// message is the next message on the ear's connection, for what is drawn for it:
// its time, and whether it gets lost.
func (e *ear) message() *call {
	e.sent++
	number, _ := strconv.ParseUint(e.address[strings.LastIndexByte(e.address, '#')+1:], 10, 32)
	return &call{p: e.p, place: e.place, seq: number<<32 | e.sent}
}

// accept takes in a process's ear.
func (s *server) accept(r *request) {
	e := r.call.ear
	if r.again || e.closed {
		return
	}
	e.since, e.at = s.w.now.Load(), s.apartFrom()
	if s.ears == nil {
		s.ears = make(map[string]*ear)
	}
	s.ears[e.address] = e
	s.answered(Answered, r.call, "listen", quorum.Granted.String())
	r.reply(&answer{})
}

// call is what the data calls waiters by. Whether the call arrives the server
// can't know.
func (s *server) call(waiter, key string) bool {
	e := s.ears[waiter]
	if e == nil {
		return false
	}
	s.calling = append(s.calling, &calling{e, key})
	return true
}

// sendCalls puts the calls of the last command on their way.
func (s *server) sendCalls() {
	w := s.w
	for _, c := range s.calling {
		kind, m := NotificationSent, c.ear.message()
		if delay, lost := w.passage(m, Replies); lost {
			kind = NotificationLost
		} else {
			w.push(w.now.Load()+int64(delay), m.tie(6), c.ear.p, c)
		}
		w.event(kind, c.ear.p.name, s.name).Key = c.key
	}
	clear(s.calling)
	s.calling = s.calling[:0]
}

// calling is a call on its way to a process.
type calling struct {
	ear *ear
	key string
}

func (c *calling) live() bool { return !c.ear.over && !c.ear.p.gone() }

func (c *calling) happen(w *world) {
	w.event(Notified, c.ear.p.name, w.places[c.ear.place].name).Key = c.key
	w.woke = true
	c.ear.hear(c.key)
}

// hangUp closes an ear from its process's side.
type hangUp struct{ ear *ear }

func (h *hangUp) order() opOrder {
	return opOrder{process: h.ear.p.index, kind: isHangUp, place: h.ear.place, key: h.ear.address}
}

func (h *hangUp) apply(w *world) {
	e := h.ear
	delete(e.p.ears, e)
	if e.over = true; e.address == "" || e.closed {
		e.closed = true
		return
	}
	m := e.message()
	if delay, lost := w.passage(m, Requests); !lost {
		w.push(w.now.Load()+int64(delay), m.tie(6), nil, &hungUp{e})
	}
}

// hungUp is when the server notices.
type hungUp struct{ ear *ear }

func (h *hungUp) live() bool { return !h.ear.closed }

func (h *hungUp) happen(*world) { h.ear.forget() }

// forget lets the server forget the ear.
func (e *ear) forget() {
	e.closed = true
	if s := e.server(); s.ears[e.address] == e {
		delete(s.ears, e.address)
	}
}

// deafened is when a process notices that an ear's connection has broken.
type deafened struct{ ear *ear }

func (d *deafened) live() bool { return !d.ear.over && !d.ear.p.gone() }

func (d *deafened) happen(w *world) {
	e := d.ear
	w.event(SubscriptionLost, e.p.name, w.places[e.place].name)
	e.over, w.woke = true, true
	delete(e.p.ears, e)
	e.end(ErrReset)
}

// deafen ends the server's connections to all ears, because it ends itself. A
// process that isn't told finds out.
func (s *server) deafen() {
	for _, e := range sorted(s.ears) {
		e.forget()
		m := e.message()
		delay, lost := s.w.passage(m, Replies)
		if lost {
			delay = earLost
		}
		s.w.push(s.w.now.Load()+int64(delay), m.tie(6), e.p, &deafened{e})
	}
}

// silence is a connection on which nothing has come for so long that who listens
// gives it up.
type silence struct{ fault Fault }

func (s *silence) live() bool { return true }

func (s *silence) happen(w *world) {
	begun := w.now.Load() - int64(earLost)
	for i, place := range w.places {
		for _, e := range append(sorted(place.server.ears), place.server.otherEars()...) {
			if e.place == i && e.since <= begun && s.fault.silences(e.p.name, place) {
				e.forget()
				w.push(w.now.Load(), e.message().tie(6), e.p, &deafened{e})
			}
		}
	}
}

// otherEars are the ears of the master that goes on beside the server, or of the server
// that its address leads to at times.
func (s *server) otherEars() []*ear {
	switch {
	case s.old != nil:
		return sorted(s.old.ears)
	case s.other != nil:
		return sorted(s.other.ears)
	}
	return nil
}

// silences reports whether the fault keeps the ears of a process at a place from
// hearing anything.
func (f Fault) silences(process string, place place) bool {
	if f.Kind == Hang {
		return matches(f.Server, place.server.name)
	}
	return matches(f.Server, place.name) && matches(f.Process, process)
}

// silence has ears given up for a fault that lasts long enough.
func (w *world) silence(f Fault) {
	if f.Kind == Cut && f.For == 0 || (f.Kind == Cut || f.Kind == Hang) && f.For >= earLost {
		w.ahead(w.now.Load()+int64(earLost), &silence{f})
	}
}

// sorted gives the ears in the order of their addresses.
func sorted(ears map[string]*ear) []*ear {
	if len(ears) == 0 {
		return nil
	}
	all := make([]*ear, 0, len(ears))
	for _, e := range ears {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *ear) int { return strings.Compare(a.address, b.address) })
	return all
}
