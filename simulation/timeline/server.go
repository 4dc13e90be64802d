package timeline

import (
	"slices"
	"strings"
	"time"
)

// isServer tells servers from processes by their names: "A" to "Z", and such as
// "A2" for more servers of one kind; processes begin with a small letter.
func isServer(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' && len(name) <= 3 }

// crashed takes away what a server had in its memory alone: of what comes back, the
// trace says so.
func (p *parser) crashed(l line) {
	for at := range p.tenures {
		if at.server == l.who {
			p.close(at, l.at, "restart")
		}
	}
}

// server understands a line of a server.
func (p *parser) server(l line) bool {
	switch verb := l.word(0); verb {
	case "suffers":
		return p.suffers(l)
	case "is":
		if l.word(1) != "back" {
			return false
		}
		p.lane(&p.t.Servers, l.who)
		p.mark(l, Back, "")
		if i, ok := p.down[l.who]; ok {
			p.t.Spans[i].Until, p.t.Spans[i].Known = l.at, true
			delete(p.down, l.who)
		}
		return true
	case "has":
		return p.key(l)
	case "calls":
		kind := Calls
		if slices.Contains(l.words, "lost") {
			kind = CallLost
		}
		p.mark(l, kind, l.word(1)).Key = l.fields["key"]
		return isName(l.word(1))
	case "falls":
		p.mark(l, FellBack, "")
		return l.word(1) == "back"
	case "loses", "again":
		return p.place(l, verb)
	default:
		return p.vote(l, verb)
	}
}

// key is a line about a key that no command of the moment explains.
func (p *parser) key(l line) bool {
	name := l.fields["key"]
	if name == "" {
		return false
	}
	p.lane(&p.t.Servers, l.who)
	at := p.keyOf(l, name)
	if slices.Contains(l.words, "gone") {
		p.mark(l, Gone, "").Key = name
		p.close(at, l.at, "lost")
		return true
	}
	p.stands(l, at, p.last[at])
	return true
}

// keyOf is a key's place. Databases of one server have keys of their own.
func (p *parser) keyOf(l line, key string) place {
	return place{l.who, key, l.fields["database"]}
}

// vote is a command that a server has carried out: "acquire c1#3 granted".
func (p *parser) vote(l line, op string) bool {
	process, n, ok := nth(l.word(1))
	if !ok || op == "" || !isName(process) {
		return false
	}
	p.lane(&p.t.Servers, l.who)
	// The old master of a server that has split answers by its name.
	to := strings.TrimSuffix(l.who, "'")
	i, ok := p.request(process, to, op, n)
	if !ok {
		// Its sending isn't in the trace: the beginning may be cut off.
		i = len(p.t.Messages)
		p.messages[call{process, to, n}] = i
		p.t.Messages = append(p.t.Messages, p.message(l, process, to, op, n, None))
	}
	m := &p.t.Messages[i]
	outcome := voted(l)
	if m.Arrived == None {
		m.Arrived, m.Outcome, m.Token = l.at, outcome, l.uint("token")
	} else {
		m.Again = l.at
	}
	if l.has("key") {
		m.Key = l.fields["key"]
	}
	done := *m
	done.Outcome = outcome
	at := p.keyOf(l, m.Key)
	switch {
	case slices.Contains(l.words, "gone") || done.ok() && done.deleting():
		if i, stood := p.tenures[at]; stood && p.t.Tenures[i].Process != process && p.t.Tenures[i].Until > l.at {
			p.t.Tenures[i].Taker = process
		}
		p.close(at, l.at, "deleted")
	case done.ok() && done.setting():
		p.stands(l, at, process)
	case l.has("until"):
		if i, ok := p.tenures[at]; ok {
			p.stands(l, at, p.t.Tenures[i].Process)
		}
	}
	return true
}

// request finds the message that a server answers. It may have been sent to the
// server by another name.
func (p *parser) request(process, server, op string, n uint64) (int, bool) {
	i, ok := p.messages[call{process, server, n}]
	if ok && p.t.Messages[i].Arrived == None {
		return i, true
	}
	for j, m := range p.t.Messages {
		if m.Process == process && m.N == n && m.Op == op && m.Arrived == None && m.Place != Resource && p.alias(m.Place) {
			p.t.Messages[j].Place = server // calls go on to be found by the other name
			return j, true
		}
	}
	return i, ok
}

// alias reports whether a place that messages go to never speaks in its own name,
// as all servers do.
func (p *parser) alias(name string) bool { return len(name) != 1 || !isServer(name) }

// voted is a command's outcome. Commands that answer with a number had an effect
// if it isn't 0.
func voted(l line) string {
	switch word := l.word(2); {
	case word == "null":
		return "refused"
	case word == "error":
		return "failed"
	case l.has("int") && l.int("int") > 0:
		return "ok"
	case l.has("int"):
		return "refused"
	default:
		return word
	}
}

// stands is a key that has a value from here on, or has it for longer or shorter.
func (p *parser) stands(l line, at place, process string) {
	until, told := l.until("until")
	if i, ok := p.tenures[at]; ok {
		n := &p.t.Tenures[i]
		if n.Process == process && n.Until > l.at {
			if told {
				n.Until, n.Open = until, false
			}
			return
		}
		p.close(at, l.at, "overwritten")
	}
	if process == "" {
		process = "?"
	}
	if !told {
		until = forever
	}
	p.tenures[at], p.last[at] = len(p.t.Tenures), process
	p.t.Tenures = append(p.t.Tenures, Tenure{
		Server: at.server, Key: at.key, Process: process, From: l.at, Until: until, Open: !told, Line: l.number,
	})
}

// close ends what stands, if it hasn't run out before.
func (p *parser) close(at place, now time.Duration, why string) {
	i, ok := p.tenures[at]
	if !ok {
		return
	}
	delete(p.tenures, at)
	n := &p.t.Tenures[i]
	if n.Until <= now && !n.Open {
		n.End = "expired"
		return
	}
	n.Until, n.Open, n.End = now, false, why
}

// resource is an operation that has arrived there.
func (p *parser) resource(l line) bool {
	process, n, ok := nth(l.word(1))
	if !ok || l.word(0) == "" || !isName(process) {
		return false
	}
	p.t.UsesResource = true
	refused, repeated := slices.Contains(l.words, "refused"), slices.Contains(l.words, "repeated")
	a := Access{
		At: l.at, Sent: None, Process: process, Goroutine: l.goroutine(), Op: l.word(0), Key: l.fields["key"], Token: l.uint("token"),
		Refused: refused, Repeated: repeated, Version: l.int("version"), Value: l.int("value"), Line: l.number,
	}
	if i, ok := p.messages[call{process, Resource, n}]; ok {
		m := &p.t.Messages[i]
		a.Sent = m.Sent
		if m.Arrived == None {
			m.Arrived, m.Outcome, m.Token = l.at, "ok", a.Token
		} else {
			m.Again = l.at
		}
		if refused {
			m.Outcome = "refused"
		}
	}
	p.t.Accesses = append(p.t.Accesses, a)
	return true
}
