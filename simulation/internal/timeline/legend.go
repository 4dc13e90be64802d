package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// signs are what a drawing has: the classes of the shapes, their height if others share it, and what they mean.
var signs = []struct {
	class  string
	height float64
	text   string
}{
	{"b", barHeight, "Thick bar: a client believes that it holds the lock."},
	{"b", thinHeight, "Thin bar: a server has the client's key. Without a thick bar above it: a try that got no lock, or a key that was left behind."},
	{"un", 0, "Red edge: too few servers have the client's key."},
	{"both", 0, "Red area: two clients believe at once that they hold the lock."},
	{"wait", 0, "Yellow bar: a client or a server stands still."},
	{"d", writeSize, "Large dot: a write."},
	{"d", readSize, "Small dot: a read."},
	{"dal", 0, "Red dot: a write that is a violation."},
	{"dok", 0, "Green ring: the resource refuses an operation."},
	{"fl", 0, "Yellow line: a fault."},
	{"vl", 0, "Red line: a check finds a violation."},
	{"axis", 0, "Time is stretched where much happens at once."},
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
		if slices.ContainsFunc(p.Shapes, func(s drawing.Shape) bool {
			return strings.TrimRight(s.Class, "0123456789") == sign.class && (sign.height == 0 || s.H == sign.height)
		}) {
			out = append(out, sign.text)
		}
	}
	var tokens []string
	for _, b := range p.t.Beliefs {
		if b.token != 0 && p.overlaps(b.From, b.Until) {
			tokens = union(tokens, b.who+" "+p.t.token(b.token))
		}
	}
	if len(tokens) > 0 {
		out = append(out, "Tokens: "+strings.Join(tokens, ", ")+".")
	}
	for _, v := range p.t.violations {
		kind, text, _ := strings.Cut(p.t.violated(v), ": ")
		if text != "" {
			out = append(out, fmt.Sprintf("%q: %s.", strings.ToLower(kind), text))
		}
	}
	return out
}
