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

// take understands one line, or reports false.
func (p *parser) take(l line) bool {
	switch {
	case l.who == "VIOLATION":
		return p.violation(l)
	case strings.Contains(l.who, "-") && l.word(0) == "suffers":
		return p.link(l)
	case l.who == Resource:
		return p.resource(l)
	case isServer(l.who):
		return p.server(l)
	default:
		return p.process(l)
	}
}

func (p *parser) lane(lanes *[]string, name string) {
	if !slices.Contains(*lanes, name) {
		*lanes = append(*lanes, name)
	}
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
	simulation.NeverFree, simulation.NoProgress, simulation.Stuck, simulation.LeftOver, simulation.Panicked, simulation.Unsimulated,
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
	if who := l.fields["process"]; who != "" {
		words = append(words, who+" still reaches the old master")
	}
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
	if l.has("reading") {
		words = append(words, "at a reading of its clock in "+l.fields["reading"])
	}
	return strings.Join(words, ", ")
}

func (p *parser) mark(l line, kind MarkKind, words string) *Mark {
	p.t.Marks = append(p.t.Marks, Mark{
		At: l.at, Lane: l.who, Goroutine: l.goroutine(), Kind: kind, Words: words, Line: l.number,
		Token: l.uint("token"), Validity: l.length("validity"), By: time.Duration(l.int("by")), PPM: l.int("ppm"),
	})
	return &p.t.Marks[len(p.t.Marks)-1]
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
	slices.SortFunc(t.Processes, byLength)
	slices.SortFunc(t.Servers, byLength)
}

// byLength puts c2 before c10, and the witness last.
func byLength(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
