package simulation

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// Send sends another process a letter, such as a handle's text. It takes a message's
// latency plus delay. It reaches the incarnation of that process that exists on arrival,
// if there is one. Link faults don't affect letters: the workload itself loses, repeats
// and misdirects them.
func (c *Client) Send(to, text string, delay time.Duration) {
	c.p.exit()
	c.letters++
	p, w, n := c.p, c.p.w, c.letters
	p.tell(opOrder{kind: isLetter, place: c.Goroutine, n: n}, func() {
		index := slices.Index(w.cfg.processNames(), to)
		if index < 0 {
			return
		}
		w.event(record.LetterSent, p.name, "").Words = to
		about := draw(w.seed, tagLetter, uint64(p.index), uint64(p.incarnation), uint64(c.Goroutine), n)
		takes := int64(w.latency(about) + max(0, delay))
		over := func() bool { return w.running()+w.reboots == 0 }
		w.push(w.now.Load()+takes, about, nil, moment{over, func() {
			to := w.processes[index]
			if w.touch(ofProcess(to)); !to.gone() {
				to.letters = append(to.letters, text)
			}
		}})
	})
}

// Letter returns the next letter that has arrived. It doesn't wait.
func (c *Client) Letter() (text string, ok bool) {
	c.p.exit()
	c.letters++
	p, done := c.p, make(chan struct{})
	order := opOrder{process: p.index, kind: isMailbox, place: c.Goroutine, n: c.letters}
	p.post(&notice{at: order, do: func() {
		if !p.gone() && len(p.letters) > 0 {
			text, ok = p.letters[0], true
			p.letters = p.letters[1:]
			p.w.event(record.LetterTaken, p.name, "")
		}
		p.w.awake = true
		close(done)
	}})
	<-done
	p.exit()
	return text, ok
}
