package timeline

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// Text writes the timeline as lines of text: the time, a column for each process with what it
// believes, one for each server with whose key it has, and a sentence. The title is above it.
func (t *Timeline) Text(w io.Writer, title string) error {
	p := &page{t: t, w: bufio.NewWriter(w), token: t.tokens()}
	p.columns()
	p.write(title)
	return p.w.Flush()
}

// page builds a text.
type page struct {
	t     *Timeline
	w     *bufio.Writer
	token func(fencing.Token) string

	process int // width of a process's column
	indent  int // where the story begins
}

const (
	textWidth = 100
	timeWidth = 11
	// quietest is the shortest time without a step that is shown.
	quietest = 100 * time.Millisecond
)

// columns divides the width: at least 40 columns for the story, 3 to 13 for each process.
func (p *page) columns() {
	instances := 2*len(p.t.Servers) + 1
	left := textWidth - timeWidth - instances - 40
	if n := len(p.t.Processes); n > 0 {
		p.process = min(13, max(3, left/n-1))
	}
	p.indent = min(timeWidth+1+len(p.t.Processes)*(p.process+1)+instances, textWidth-24)
}

func (p *page) write(title string) {
	t := p.t
	if title != "" {
		p.wrapped(title)
	}
	p.legend()
	p.line(p.row("ms", t.Processes, t.Servers, "what happened"))
	at := time.Duration(0)
	for i, step := range t.Story() {
		if i > 0 && step.At-at > quietest {
			p.line(fmt.Sprintf("%*s", timeWidth, "⋮") + "  " + length(step.At-at) + " pass")
		}
		at = step.At
		p.step(step)
	}
	p.summary()
}

// legend explains the columns.
func (p *page) legend() {
	var who []string
	for i, name := range p.t.Processes {
		who = append(who, fmt.Sprintf("%s %s's", p.letter(i), name))
	}
	if len(who) > 6 {
		who = append(who[:3], "…")
	}
	hold, paused := "HOLDS", "paused"
	if p.process < 8 {
		hold, paused = "H", "z"
	}
	text := fmt.Sprintf("Under a process: %s = it believes that it holds the lock, %s = it is stopped. "+
		"Under a server, whose key it has: %s, . nobody's, x down, ? hangs. A lock is valid on %d of %d.",
		hold, paused, strings.Join(who, ", "), p.t.Quorum(), len(p.t.Servers))
	if p.t.severalGoroutines() {
		text += " c1 is also the process's first goroutine, and c1.1 the next one."
	}
	p.wrapped(text)
	p.line("")
}

// row lays out the columns.
func (p *page) row(at string, processes, servers []string, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%*s ", timeWidth, at)
	for _, s := range processes {
		b.WriteString(" " + pad(s, p.process))
	}
	b.WriteByte(' ')
	for _, s := range servers {
		b.WriteString(" " + s)
	}
	out := pad(b.String(), p.indent)
	if n := utf8.RuneCountInString(out); n > p.indent {
		out = string([]rune(out)[:p.indent-1]) + "…"
	}
	return strings.TrimRight(out+"  "+text, " ")
}

// step writes one step with the state after it.
func (p *page) step(s Step) {
	if s.Alarm {
		p.alarm(s)
		return
	}
	processes := make([]string, len(p.t.Processes))
	for i, name := range p.t.Processes {
		processes[i] = p.state(name, s)
	}
	servers := make([]string, len(p.t.Servers))
	for i, name := range p.t.Servers {
		servers[i] = p.holder(name, s.At)
	}
	for i, text := range wrap.Lines(s.Text, max(8, textWidth-p.indent-2), "", "") {
		if i == 0 {
			p.line(p.row(Clock(s.At), processes, servers, text))
		} else {
			p.line(strings.Repeat(" ", p.indent+2) + text)
		}
	}
}

// alarm writes a violation over the whole width.
func (p *page) alarm(s Step) {
	for i, text := range wrap.Lines(s.Text, textWidth-timeWidth-6, "", "") {
		at := ""
		if i == 0 {
			at = Clock(s.At)
		}
		p.line(fmt.Sprintf("%*s  !! %s", timeWidth, at, text))
	}
}

// state returns what a process believes after a step.
func (p *page) state(process string, now Step) string {
	at := now.At
	// Within one moment, the lines of the log give the order.
	begun := func(from time.Duration, line int) bool { return from < at || from == at && line <= now.line }
	holds, runs, dead := false, true, false
	asks := map[int]bool{} // by goroutine
	token := ""
	for _, b := range p.t.Beliefs {
		if b.Process == process && begun(b.From, b.Line) && (at < b.Until || b.End == "") {
			holds, token = true, p.token(b.Token)
		}
	}
	for _, s := range p.t.Spans {
		if s.Lane == process && s.traits().Stops && fault.Kind(s.Kind) != fault.Reboot && begun(s.From, s.Line) && at < s.Until {
			runs = false
		}
	}
	for _, m := range p.t.Events {
		if m.Lane != process || !begun(m.At, m.Line) {
			continue
		}
		switch m.Kind {
		case record.Asked:
			asks[m.Goroutine] = true
		case record.Acquired, record.Refused:
			delete(asks, m.Goroutine)
		case record.Crashed, record.Ended:
			dead = true
		case record.Started:
			dead = false
			clear(asks)
		}
	}
	wide := p.process >= 8
	switch {
	case dead:
		return "-"
	case holds && !runs && wide:
		return "HOLDS, paused"
	case holds && !runs:
		return "Hz"
	case holds && wide:
		return strings.TrimSpace("HOLDS " + token)
	case holds:
		return "H"
	case !runs && wide:
		return "paused"
	case !runs:
		return "z"
	case len(asks) > 0 && wide:
		return "asks"
	case len(asks) > 0:
		return "a"
	default:
		return "."
	}
}

// holder returns whose key a server has at a moment.
func (p *page) holder(server string, at time.Duration) string {
	for _, s := range p.t.Spans {
		if s.Lane == server && s.From <= at && at < s.Until {
			switch {
			case fault.Kind(s.Kind) == fault.Hang:
				return "?"
			case s.traits().Stops:
				return "x"
			}
		}
	}
	out := "."
	for _, n := range p.t.Tenures {
		if n.Server == server && n.From <= at && (at < n.Until || n.Open) {
			out = p.letter(slices.Index(p.t.Processes, n.Process))
		}
	}
	return out
}

// letter returns a process's sign: 1 to 9, then small letters.
func (p *page) letter(i int) string {
	const signs = "123456789abcdefghijklmnopqrstuvw"
	if i < 0 || i >= len(signs) {
		return "*"
	}
	return signs[i : i+1]
}

// summary writes the Summary.
func (p *page) summary() {
	p.line("")
	for _, s := range p.t.Summary() {
		for i, l := range wrap.Lines(s, textWidth-3, "", "") {
			if i > 0 {
				l = "   " + l
			}
			p.line(l)
		}
	}
}

func (p *page) wrapped(text string) {
	for _, l := range wrap.Lines(text, textWidth, "", "") {
		p.line(l)
	}
}

func (p *page) line(text string) {
	_, _ = p.w.WriteString(strings.TrimRight(text, " ")) // Flush returns the error
	_ = p.w.WriteByte('\n')
}

// pad pads or truncates a text to a number of columns.
func pad(s string, n int) string {
	count := utf8.RuneCountInString(s)
	if count > n {
		return string([]rune(s)[:n])
	}
	return s + strings.Repeat(" ", n-count)
}
