package timeline

import (
	"slices"
	"strings"
	"time"
)

type place struct{ server, key, database string }

// process understands a line of a process.
func (p *parser) process(l line) bool {
	if to, _, ok := nth(l.word(1)); !isName(l.who) || ok && slices.Contains(p.t.Processes, to) {
		return p.place(l, l.word(0)) // a server's second name may be anything
	}
	p.lane(&p.t.Processes, l.who)
	switch verb := l.word(0); verb {
	case "starts", "ends":
		p.mark(l, MarkKind(verb), "")
	case "crashes":
		p.mark(l, Crashed, "")
		p.crashes(l)
	case "asked", "refused":
		p.mark(l, MarkKind(verb), l.from(2)).Key = l.word(1)
		p.asked[l.who] = l.word(1)
	case "acquired":
		p.mark(l, Acquired, "").Key = l.word(1)
		p.acquired(l)
	case "looked", "extended":
		p.mark(l, MarkKind(verb), "").Key = l.word(1)
		p.renewed(l)
	case "released":
		p.mark(l, Released, "").Key = l.word(1)
		p.endBeliefs(l, l.word(1), "released")
	case "handed": // off
		p.mark(l, HandedOff, "").Key = l.word(2)
		p.endBeliefs(l, l.word(2), "handed off")
	case "sends", "takes": // a letter
		p.mark(l, Noted, l.from(0))
	case "noted":
		p.mark(l, Noted, l.from(1))
	case "suffers":
		return p.suffers(l)
	case "distrusts":
		p.mark(l, Distrusts, l.word(1)).Validity = l.length("for")
	case "called":
		p.mark(l, Called, l.word(2)).Key = l.fields["key"]
	case "cannot":
		p.mark(l, Deafened, l.word(2))
	case "hears", "gives", "is", "loses", "ignores", "again":
		return p.heard(l, verb)
	default:
		return p.sent(l, verb)
	}
	return true
}

// isName tells a process's name from a word of a torn line.
func isName(who string) bool {
	return who[0] >= 'a' && who[0] <= 'z' && len(who) <= 32 && !strings.ContainsAny(who, `=#".:`)
}

// suffers is a fault of a process or a server.
func (p *parser) suffers(l line) bool {
	kind := l.word(1)
	if kind == "" {
		return false
	}
	p.mark(l, Suffered, kind)
	s := Span{Lane: l.who, Kind: kind, From: l.at, Until: forever, Words: faultWords(l), Line: l.number}
	if l.has("for") {
		s.Until, s.Known = plus(l.at, l.length("for")), true
	}
	switch kind {
	case "pause", "suspend":
		p.t.Spans = append(p.t.Spans, s)
	case "lag":
		if !l.has("for") {
			s.Known = true // to the end
		}
		if n := l.fields["replica"]; n != "" {
			s.Place = "replica " + n
		}
		p.t.Spans = append(p.t.Spans, s)
	case "restart", "hang", "failover", "demote":
		p.down[l.who] = len(p.t.Spans)
		p.t.Spans = append(p.t.Spans, s)
	case "split-brain":
		s.Known = true
		p.t.Spans = append(p.t.Spans, s)
	case "reboot":
		p.t.Spans = append(p.t.Spans, s)
		p.crashes(l)
	}
	if isServer(l.who) {
		p.lane(&p.t.Servers, l.who)
		if kind == "restart" && l.fields["keep"] == "" || kind == "demote" {
			p.crashed(l)
		}
		return true
	}
	c := p.clock(l)
	c.suffer(l)
	for i := range p.t.Beliefs {
		b := &p.t.Beliefs[i]
		if t, ok := p.told[i]; ok && b.Process == l.who && b.End == "" && b.Until > l.at {
			b.Until = max(l.at, c.over(t))
		}
	}
	return true
}

// sent is a request that is put on its way: "acquire A#3".
func (p *parser) sent(l line, op string) bool {
	where, n, ok := nth(l.word(1))
	if !ok || op == "" || slices.Contains(p.t.Processes, where) {
		return false
	}
	p.messages[call{l.who, where, n}] = len(p.t.Messages)
	p.t.Messages = append(p.t.Messages, p.message(l, l.who, where, op, n, l.at))
	return true
}

func (p *parser) message(l line, process, where, op string, n uint64, sent time.Duration) Message {
	switch {
	case where == Resource:
		p.t.UsesResource = true
	case !p.alias(where):
		p.lane(&p.t.Servers, where)
	}
	key := l.fields["key"]
	if key == "" {
		key = p.asked[process]
	}
	return Message{
		Process: process, Place: where, Op: op, N: n, Key: key, Sent: sent,
		Arrived: None, Heard: None, GaveUp: None, Missed: None, Again: None, Line: l.number,
	}
}

// heard is an answer's fate at the process: "hears A#3", "gives up A#3".
func (p *parser) heard(l line, verb string) bool {
	word := l.word(1)
	switch {
	case verb == "gives" && word == "up":
		word = l.word(2)
	case verb == "is" && word == "cut" && l.word(2) == "off":
		word = l.word(3)
	case verb == "gives" || verb == "is":
		return false
	}
	where, n, ok := nth(word)
	if !ok {
		return false
	}
	i, ok := p.messages[call{l.who, where, n}]
	if !ok {
		// It was held back before it was sent, and never was.
		return verb == "gives" || verb == "is"
	}
	switch m := &p.t.Messages[i]; verb {
	case "hears":
		m.Heard = l.at
	case "gives", "is":
		m.GaveUp = l.at
	case "ignores":
		m.Missed = l.at
	case "loses":
		m.Lost = Request
	}
	return true
}

// place is what happens to a message at its other end: "A loses c1#3", an answer;
// "A again c1#3", a request that arrives once more.
func (p *parser) place(l line, verb string) bool {
	process, n, ok := nth(l.word(1))
	if !ok || verb != "loses" && verb != "again" {
		return false
	}
	if i, sent := p.messages[call{process, l.who, n}]; sent {
		if verb == "again" {
			p.t.Messages[i].Again = l.at
		} else {
			p.t.Messages[i].Lost = Reply
		}
	}
	return true
}

// clock is a process's, at the time of a line.
func (p *parser) clock(l line) *clock {
	c := p.clocks[l.who]
	if c == nil {
		c = &clock{}
		p.clocks[l.who] = c
	}
	c.advance(l.at)
	return c
}

// acquired opens a belief.
func (p *parser) acquired(l line) {
	p.t.Beliefs = append(p.t.Beliefs, Belief{
		Process: l.who, Goroutine: l.goroutine(), Key: l.word(1), Token: l.uint("token"), From: l.at, Line: l.number,
	})
	p.rest(len(p.t.Beliefs)-1, l)
}

// rest lets a belief last for as long as its holder's clocks will say, as things
// stand, that it has what it was told.
func (p *parser) rest(i int, l line) {
	c := p.clock(l)
	t := told{validity: l.length("validity"), mono: c.mono, wall: c.wall}
	p.told[i] = t
	p.t.Beliefs[i].Until = max(l.at, c.over(t))
}

// renewed is a look at a lease, or an extension: what the holder believes is counted
// from there. Where it had come to an end by its own clocks and begins anew, that is
// another stretch.
func (p *parser) renewed(l line) {
	if !l.has("validity") {
		return
	}
	for i := len(p.t.Beliefs) - 1; i >= 0; i-- {
		b := &p.t.Beliefs[i]
		if b.Process != l.who || b.Goroutine != l.goroutine() || b.Key != l.word(1) || l.has("token") && b.Token != l.uint("token") || b.End != "" {
			continue
		}
		if b.Until < l.at {
			if l.length("validity") == 0 {
				return
			}
			again := *b
			b.End = "ran out"
			again.From, again.Line = l.at, l.number
			p.t.Beliefs = append(p.t.Beliefs, again)
			i = len(p.t.Beliefs) - 1
		}
		p.rest(i, l)
		return
	}
}

// endBeliefs ends what a goroutine believed of a key.
func (p *parser) endBeliefs(l line, key, why string) {
	for i := range p.t.Beliefs {
		b := &p.t.Beliefs[i]
		if b.Process == l.who && b.Goroutine == l.goroutine() && b.Key == key && (!l.has("token") || b.Token == l.uint("token")) {
			b.end(l.at, why)
		}
	}
}

// crashes ends all that a process believed.
func (p *parser) crashes(l line) {
	for i := range p.t.Beliefs {
		if b := &p.t.Beliefs[i]; b.Process == l.who {
			b.end(l.at, "crashed")
		}
	}
}

// end ends a belief, if it hasn't ended before.
func (b *Belief) end(at time.Duration, why string) {
	switch {
	case b.End != "":
	case b.Until <= at:
		b.End = "ran out"
	default:
		b.Until, b.End = at, why
	}
}

// resumes is the first sign that a pause of unknown length was over: something
// that its process did.
func (p *parser) resumes(s *Span) time.Duration {
	first := p.t.End
	for _, m := range p.t.Messages {
		if m.Process != s.Lane {
			continue
		}
		for _, at := range []time.Duration{m.Sent, m.Heard, m.GaveUp} {
			if at > s.From {
				first = min(first, at)
			}
		}
	}
	return first
}
