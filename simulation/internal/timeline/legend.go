package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/record"
)

// stretch is how far, in pixels, the axis moves a moment before a reader has to know.
const stretch = 8

// meanings are the kinds of violations in a sentence each.
var meanings = map[record.ViolationKind]string{
	record.StaleWrite: "a write took effect after a later holder's operation",
	record.LostUpdate: "a write replaced a value that its writer had not read",
	record.TokenOrder: "a later lease has no larger token",
	record.NoProgress: "nobody got the lock for long, although enough servers could be reached",
	record.NeverFree:  "the lock could not be had long after everything had ended",
	record.Overvalued: "a client was told more time than enough servers keep its key",
}

// legend explains the signs that are drawn, and the words for this run's violations.
func (p *plot) legend() (out []string) {
	drawn := func(class string, size float64) bool {
		return slices.ContainsFunc(p.Shapes, func(s drawing.Shape) bool {
			return strings.TrimRight(s.Class, "0123456789") == class && (size == 0 || s.H == size)
		})
	}
	for _, sign := range []struct {
		is   bool
		text string
	}{
		{drawn("b", barHeight), "Thick bar: a client believes that it holds the lock."},
		{drawn("b", thinHeight), "Thin bar: a server has the client's key."},
		{slices.ContainsFunc(p.t.Tenures, p.tries), "Thin bar without a thick one above it: a try that got no lock, or a key that was left behind."},
		{drawn("un", 0), "Red dashes: too few servers have the client's key."},
		{drawn("both", 0), "Red area: two clients believe at once that they hold the lock."},
		{drawn("wait", 0), "Yellow bar: a client or a server stands still."},
		{drawn("d", writeSize), "Large dot: a write."},
		{drawn("d", readSize), "Small dot: a read."},
		{drawn("dal", 0), "Red dot: a write that is a violation."},
		{drawn("dok", 0), "Green ring: the resource refuses an operation."},
		{drawn("fl", 0), "Yellow line: a fault."},
		{drawn("vl", 0), "Red line: a check finds a violation."},
		{p.stretched(), "Time is stretched where much happens at once."},
	} {
		if sign.is {
			out = append(out, sign.text)
		}
	}
	if tokens := p.held(); len(tokens) > 0 {
		out = append(out, "Tokens: "+strings.Join(tokens, ", ")+".")
	}
	for _, v := range p.violations() {
		kind, meaning := v.Violation.Kind, meanings[v.Violation.Kind]
		if kind == record.TwoHolders {
			meaning = p.t.twice(v)
		}
		if meaning != "" {
			out = append(out, fmt.Sprintf("%q: %s.", kind, meaning))
		}
	}
	return out
}

// tries reports whether a server had a key while its client didn't believe that it held the lock.
func (p *plot) tries(n tenure) bool {
	return n.Until > n.From && p.overlaps(n.From, n.Until) && !slices.ContainsFunc(p.t.Beliefs, func(b belief) bool {
		return b.Process == n.Process && b.Key == n.Key && b.At <= n.Until && b.Until >= n.From
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
		if text := b.who() + " " + p.token(b.Token); b.Token != 0 && p.overlaps(b.At, b.Until) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// twice says how there were two holders: at once, or one of them acted too late.
func (t *Timeline) twice(v event) string {
	if len(t.overlaps()) > 0 {
		return "two clients believed at once that they held the lock"
	}
	for i, second := range slices.Backward(t.Beliefs) {
		if second.At > v.At {
			continue
		}
		for _, first := range slices.Backward(t.Beliefs[:i]) {
			if first.Key == second.Key && first.who() != second.who() {
				return fmt.Sprintf("%s acted after %s had got the lock", first.who(), second.who())
			}
		}
	}
	return "a client acted as the holder after another one had got the lock"
}
