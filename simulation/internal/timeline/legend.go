package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// stretch is how far, in pixels, the axis moves a moment before a reader has to know.
const stretch = 8

// signs are what can be drawn, each with what it means.
var signs = []struct {
	text string
	is   func(*plot) bool // it is drawn
}{
	{"Thick bar: a client believes that it holds the lock.", drawn("b", barHeight)},
	{"Thin bar: a server has the client's key.", drawn("b", thinHeight)},
	{"Thin bar without a thick one above it: a try that got no lock, or a key that was left behind.", func(p *plot) bool {
		return slices.ContainsFunc(p.t.tenures, p.tries)
	}},
	{"Red dashes: too few servers have the client's key.", drawn("un", 0)},
	{"Red area: two clients believe at once that they hold the lock.", drawn("both", 0)},
	{"Yellow bar: a client or a server stands still.", drawn("wait", 0)},
	{"Large dot: a write.", drawn("d", writeSize)},
	{"Small dot: a read.", drawn("d", readSize)},
	{"Red dot: a write that is a violation.", drawn("dal", 0)},
	{"Green ring: the resource refuses an operation.", drawn("dok", 0)},
	{"Yellow line: a fault.", drawn("fl", 0)},
	{"Red line: a check finds a violation.", drawn("vl", 0)},
	{"Time is stretched where much happens at once.", (*plot).stretched},
}

// drawn looks for shapes of a class, with a height unless that is 0.
func drawn(class string, height float64) func(*plot) bool {
	return func(p *plot) bool {
		return slices.ContainsFunc(p.Shapes, func(s drawing.Shape) bool {
			return strings.TrimRight(s.Class, "0123456789") == class && (height == 0 || s.H == height)
		})
	}
}

// Legend explains all signs of drawings.
func Legend() (all []string) {
	for _, sign := range signs {
		all = append(all, sign.text)
	}
	return all
}

// legend explains the signs that are drawn, and the words for this run's violations.
func (p *plot) legend() (out []string) {
	for _, sign := range signs {
		if sign.is(p) {
			out = append(out, sign.text)
		}
	}
	if tokens := p.held(); len(tokens) > 0 {
		out = append(out, "Tokens: "+strings.Join(tokens, ", ")+".")
	}
	for _, v := range p.violations {
		kind, text, _ := strings.Cut(p.t.violated(v), ": ")
		if text != "" {
			out = append(out, fmt.Sprintf("%q: %s.", strings.ToLower(kind), text))
		}
	}
	return out
}

// tries reports whether a server had a key while its client didn't believe that it held the lock.
func (p *plot) tries(n *tenure) bool {
	return n.until > n.from && p.overlaps(n.from, n.until) && !slices.ContainsFunc(p.t.Beliefs, func(b *belief) bool {
		return b.Process == n.process && b.Key == n.key && b.From <= n.until && b.Until >= n.from
	})
}

// stretched reports whether the axis is visibly uneven.
func (p *plot) stretched() bool {
	return slices.ContainsFunc(p.axis, func(k knot) bool {
		return math.Abs(k.x-left-(right-left)*share(k.at-p.from(), p.until()-p.from())) > stretch
	})
}

// held lists the holders with their tokens.
func (p *plot) held() (out []string) {
	for _, b := range p.t.Beliefs {
		if text := b.who + " " + p.t.token(b.token); b.token != 0 && p.overlaps(b.From, b.Until) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
