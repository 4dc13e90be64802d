package timeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
)

// ErrTrace is wrapped by the error for a text that isn't a trace.
var ErrTrace = errors.New("timeline: not a trace")

// Parse reads a trace. Words and lines that it doesn't know are passed over, and
// such lines listed in Unknown; the error is ErrTrace, for a text in which no line
// is one of a trace.
func Parse(trace []byte) (*Timeline, error) {
	p := &parser{
		t:        &Timeline{},
		messages: map[call]int{}, tenures: map[place]int{}, down: map[string]int{}, last: map[place]string{},
		clocks: map[string]*clock{}, told: map[int]told{}, asked: map[string]string{},
	}
	number, understood := 0, 0
	for text := range strings.Lines(string(trace)) {
		number++
		text = strings.TrimSuffix(text, "\n")
		l, ok := split(number, text)
		if ok {
			ok = p.take(l)
		}
		if !ok {
			p.t.Unknown = append(p.t.Unknown, UnknownLine{Number: number, Text: text})
			continue
		}
		understood++
		p.t.End = max(p.t.End, l.at)
	}
	if understood == 0 {
		return nil, fmt.Errorf("%w: none of its %d lines is one, such as %q", ErrTrace, number, "1000.000000 c1 asked k")
	}
	p.finish()
	return p.t, nil
}

// parser is a Timeline in the making.
type parser struct {
	t *Timeline

	messages map[call]int      // where a call's Message is
	tenures  map[place]int     // where the Tenure is that stands now
	down     map[string]int    // where the Span is that a server's "is back" ends
	last     map[place]string  // which process had a key last
	clocks   map[string]*clock // of processes
	told     map[int]told      // what the Belief at an index rests on
	asked    map[string]string // which key a process asked for last
}

type call struct {
	process, place string
	n              uint64
}

type place struct{ server, key, database string }

// take understands one line, or reports false.
func (p *parser) take(l line) bool {
	switch {
	case l.who == "VIOLATION":
		return p.violation(l)
	case l.who == "world":
		return p.world(l)
	case strings.Contains(l.who, "-"):
		return p.link(l)
	case l.who == Resource:
		return p.resource(l)
	case isServer(l.who):
		return p.server(l)
	default:
		return p.process(l)
	}
}

// isServer tells servers from processes by their names: "A" to "Z", and such as
// "A2" for more servers of one kind; processes begin with a small letter.
func isServer(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' && len(name) <= 3 }

func (p *parser) lane(lanes *[]string, name string) {
	if !slices.Contains(*lanes, name) {
		*lanes = append(*lanes, name)
	}
}

func (p *parser) world(l line) bool {
	w := &p.t.World
	w.Seed, w.Seeded = l.uint("seed"), l.has("seed")
	w.Quorum, w.TTL, w.Guard = int(min(l.length("quorum"), 1000)), l.length("ttl"), l.int("guard") != 0
	for _, name := range strings.Split(l.fields["servers"], ",") {
		if name != "" && isServer(name) {
			p.lane(&p.t.Servers, name)
		}
	}
	for _, name := range strings.Split(l.fields["processes"], ",") {
		if name != "" && !isServer(name) {
			p.lane(&p.t.Processes, name)
		}
	}
	return true
}

func (p *parser) violation(l line) bool {
	for _, kind := range kinds {
		if text, ok := strings.CutPrefix(l.text, string(kind)); ok && (text == "" || text[0] == ' ') {
			p.t.Violations = append(p.t.Violations, Violation{At: l.at, Kind: string(kind), Text: strings.TrimPrefix(text, " "), Line: l.number})
			return true
		}
	}
	if l.text == "" {
		return false
	}
	p.t.Violations = append(p.t.Violations, Violation{At: l.at, Kind: l.text, Line: l.number})
	return true
}

// kinds is what the checks find.
var kinds = []simulation.ViolationKind{
	simulation.TwoHolders, simulation.StaleWrite, simulation.LostUpdate, simulation.TokenOrder, simulation.Overvalued,
	simulation.NeverFree, simulation.Stuck, simulation.LeftOver, simulation.Panicked, simulation.Unsimulated,
}

// link is a fault between a process and a place: "c1-D suffers cut".
func (p *parser) link(l line) bool {
	process, where, _ := strings.Cut(l.who, "-")
	if l.word(0) != "suffers" || l.word(1) == "" || process == "" || where == "" {
		return false
	}
	s := Span{
		Lane: process, Place: where, Kind: l.word(1), From: l.at, Until: forever, Known: true,
		Way: Way(l.fields["way"]), Words: faultWords(l), Line: l.number,
	}
	if d := l.length("for"); d > 0 {
		s.Until = plus(l.at, d)
	} else if s.Kind == "reconnect" {
		s.Until = l.at
	}
	p.t.Spans = append(p.t.Spans, s)
	return true
}

// faultWords says of a fault what isn't its time and place.
func faultWords(l line) string {
	var words []string
	if by := l.int("by"); by != 0 {
		words = append(words, "by "+signed(time.Duration(by)))
	}
	if ppm := l.int("ppm"); ppm != 0 {
		words = append(words, fmt.Sprintf("%+d ppm", ppm))
	}
	if keep := l.fields["keep"]; keep != "" {
		words = append(words, map[string]string{"second": "keeps all but the last second", "all": "keeps all"}[keep])
	}
	if l.has("frozen") || slices.Contains(l.words, "frozen") {
		words = append(words, "its clocks stand still")
	}
	return strings.Join(words, ", ")
}

func (p *parser) mark(l line, kind MarkKind, words string) *Mark {
	p.t.Marks = append(p.t.Marks, Mark{
		At: l.at, Lane: l.who, Kind: kind, Words: words, Line: l.number,
		Token: l.uint("token"), Validity: l.length("validity"), By: time.Duration(l.int("by")), PPM: l.int("ppm"),
	})
	return &p.t.Marks[len(p.t.Marks)-1]
}

// process understands a line of a process.
func (p *parser) process(l line) bool {
	if isName(l.who) {
		p.lane(&p.t.Processes, l.who)
	} else {
		return false
	}
	switch verb := l.word(0); verb {
	case "starts", "ends":
		p.mark(l, MarkKind(verb), "")
	case "crashes":
		p.mark(l, Crashed, "")
		p.endBeliefs(l, "", "crashed")
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
	case "noted":
		p.mark(l, Noted, l.from(1))
	case "suffers":
		return p.suffers(l)
	case "distrusts":
		p.mark(l, Distrusts, l.word(1)).Validity = l.length("for")
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
	case "restart", "hang", "failover":
		p.down[l.who] = len(p.t.Spans)
		p.t.Spans = append(p.t.Spans, s)
	case "reboot":
		p.t.Spans = append(p.t.Spans, s)
		p.endBeliefs(l, "", "crashed")
	}
	if isServer(l.who) {
		p.lane(&p.t.Servers, l.who)
		p.disturbed(l, kind)
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

// disturbed works out what becomes of a server's keys where the trace doesn't
// say it key by key; lines that do come later, and have the last word.
func (p *parser) disturbed(l line, kind string) {
	for at, i := range p.tenures {
		if at.server != l.who {
			continue
		}
		n := &p.t.Tenures[i]
		switch kind {
		case "restart":
			if l.fields["keep"] == "" {
				p.close(at, l.at, "restart")
			}
		case "step":
			if n.Until < forever {
				n.Until = max(l.at, plus(n.Until, -time.Duration(l.int("by"))))
			}
		}
	}
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
	if !ok && slices.Contains(p.t.Processes, where) {
		return p.place(l, verb) // a second name of a server may look like a process's
	}
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
	i, ok := p.request(process, l.who, op, n)
	if !ok {
		// Its sending isn't in the trace: the beginning may be cut off.
		i = len(p.t.Messages)
		p.messages[call{process, l.who, n}] = i
		p.t.Messages = append(p.t.Messages, p.message(l, process, l.who, op, n, None))
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
	case slices.Contains(l.words, "gone"):
		p.close(at, l.at, "deleted")
	case done.ok() && done.deleting():
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
		At: l.at, Sent: None, Process: process, Op: l.word(0), Key: l.fields["key"], Token: l.uint("token"),
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
		Process: l.who, Key: l.word(1), Token: l.uint("token"), From: l.at, Line: l.number,
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
		if b.Process != l.who || b.Key != l.word(1) || l.has("token") && b.Token != l.uint("token") || b.End != "" {
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

// endBeliefs ends what a process believed, of one key or (with "") of all.
func (p *parser) endBeliefs(l line, key, why string) {
	for i := range p.t.Beliefs {
		b := &p.t.Beliefs[i]
		if b.Process != l.who || b.End != "" || key != "" && b.Key != key || l.has("token") && b.Token != l.uint("token") {
			continue
		}
		if b.Until <= l.at {
			b.End = "ran out"
			continue
		}
		b.Until, b.End = l.at, why
	}
}

// finish cuts off at the trace's end what would last beyond it.
func (p *parser) finish() {
	t := p.t
	for i := range t.Beliefs {
		b := &t.Beliefs[i]
		if b.Until > t.End {
			b.Until = t.End
		} else if b.End == "" {
			b.End = "ran out"
		}
	}
	for i := range t.Tenures {
		n := &t.Tenures[i]
		if n.Until > t.End {
			n.Until, n.Open = t.End, true
		} else if n.End == "" {
			n.End = "expired"
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Known {
			s.Until = p.resumes(s)
		}
		s.Until = min(s.Until, t.End)
	}
	if !t.World.Seeded {
		slices.SortFunc(t.Processes, byLength)
		slices.SortFunc(t.Servers, byLength)
	}
}

// byLength puts c2 before c10, and the witness last.
func byLength(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
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
