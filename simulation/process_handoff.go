package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// errNoHandles is the error of a Locker that cannot hand leases off.
var errNoHandles = errors.New("simulation: the Locker's leases can't be handed off")

// HandOff is quorum.Lease.HandOff: if it succeeds, the lease has ended here. It fails for
// other kinds of leases.
func (c *Client) HandOff(lease Lease) (quorum.Handle, error) {
	c.settle()
	of, ok := lease.(*quorum.Lease)
	if !ok {
		return quorum.Handle{}, errNoHandles
	}
	h := c.held(lease)
	handle, err := of.HandOff(c.ctx)
	c.stirred = true
	c.p.exit()
	if err != nil {
		c.Note("hand-off: " + verdict(err))
		return quorum.Handle{}, err
	}
	c.record(&record{kind: HandedOff, holding: h})
	return handle, nil
}

// Resume is quorum.Coordinator.Resume. The checks treat the result as a new lease that was
// requested now.
func (c *Client) Resume(handle quorum.Handle) (Lease, error) {
	if c.Coordinator == nil {
		return nil, errNoHandles
	}
	h := &holding{p: c.p, key: handle.Key(), resumed: true}
	return c.gain(h, func() (Lease, error) { return asLease(c.Coordinator.Resume(c.ctx, handle)) })
}

// ReleaseHandle is quorum.Coordinator.ReleaseHandle.
func (c *Client) ReleaseHandle(handle quorum.Handle) error {
	if c.Coordinator == nil {
		return errNoHandles
	}
	c.settle()
	err := c.Coordinator.ReleaseHandle(c.ctx, handle)
	c.stirred = true
	c.p.exit()
	words := "released a handle"
	if err != nil {
		words += ": " + verdict(err)
	}
	c.Note(words)
	return err
}

// Inspect is quorum.Coordinator.Inspect. What it found goes into the log.
func (c *Client) Inspect(key string) (quorum.Inspection, error) {
	if c.Coordinator == nil {
		return quorum.Inspection{}, errNoHandles
	}
	c.settle()
	found, err := c.Coordinator.Inspect(c.ctx, key)
	c.stirred = true
	c.p.exit()
	words := "inspected:"
	for _, h := range found.Holders {
		words += fmt.Sprintf(" %s on %s,", h.Owner, strings.Join(h.Instances, ""))
	}
	words += " free on " + strings.Join(found.Free, "")
	if err != nil {
		words += ": " + verdict(err)
	}
	c.Note(words)
	return found, err
}

// Send sends another process a letter, such as a handle's text. It takes a message's
// latency plus delay. It reaches the incarnation of that process that exists on arrival,
// if there is one. Link faults don't affect letters: the workload itself loses, repeats
// and misdirects them.
func (c *Client) Send(to, text string, delay time.Duration) {
	c.p.exit()
	c.letters++
	c.p.post(&letter{client: c, n: c.letters, to: to, text: text, delay: delay})
}

// letter is a message from one process to another.
type letter struct {
	client *Client
	n      uint64
	to     string
	text   string
	delay  time.Duration
}

func (l *letter) order() opOrder {
	return opOrder{process: l.client.p.index, kind: isLetter, place: l.client.Goroutine, n: l.n}
}

func (l *letter) apply(w *world) {
	p := l.client.p
	if p.gone() {
		return
	}
	for i, name := range w.cfg.processNames() {
		if name != l.to {
			continue
		}
		w.event(LetterSent, p.name, "").Words = l.to
		about := draw(w.seed, tagLetter, uint64(p.index), uint64(p.incarnation), uint64(l.client.Goroutine), l.n)
		takes := between(about, int64(w.cfg.LatencyMin), int64(w.cfg.LatencyMax))
		w.push(w.now.Load()+takes+int64(max(0, l.delay)), about, nil, &delivered{w: w, index: i, text: l.text})
	}
}

// delivered is the arrival of a letter.
type delivered struct {
	w     *world
	index int
	text  string
}

func (d *delivered) live() bool { return d.w.running()+d.w.reboots > 0 }

func (d *delivered) happen(w *world) {
	if p := w.processes[d.index]; !p.gone() {
		p.letters = append(p.letters, d.text)
	}
}

// Letter returns the next letter that has arrived. It doesn't wait.
func (c *Client) Letter() (text string, ok bool) {
	c.p.exit()
	c.letters++
	m := &mailbox{client: c, n: c.letters, come: make(chan struct{})}
	c.p.post(m)
	<-m.come
	c.p.exit()
	return m.text, m.ok
}

// mailbox is a request for the next letter.
type mailbox struct {
	client *Client
	n      uint64
	come   chan struct{}
	text   string
	ok     bool
}

func (m *mailbox) order() opOrder {
	return opOrder{process: m.client.p.index, kind: isMailbox, place: m.client.Goroutine, n: m.n}
}

func (m *mailbox) apply(w *world) {
	if p := m.client.p; !p.gone() && len(p.letters) > 0 {
		m.text, m.ok = p.letters[0], true
		p.letters = p.letters[1:]
		w.event(LetterTaken, p.name, "")
	}
	w.woke = true
	close(m.come)
}
