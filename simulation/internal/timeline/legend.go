package timeline

import (
	"fmt"
	"slices"
	"strings"
)

// Legend explains the signs of drawings.
func Legend() []string {
	return []string{
		"Thick bar: a client believes that it holds the lock.",
		"Thin bar: a server has the client's key. Without a thick bar above it: a try that got no lock, or a key that was left behind.",
		"Red edge: too few servers have the client's key.",
		"Red area: two clients believe at once that they hold the lock.",
		"Yellow bar: a client or a server stands still.",
		"Large dot: a write.",
		"Small dot: a read.",
		"Red dot: a write that is a violation.",
		"Green ring: the resource refuses an operation.",
		"Yellow line: a fault.",
		"Red line: a check finds a violation.",
		"…207: the last digits of a token.",
		"Time is stretched where much happens at once.",
	}
}

// legend explains the tokens and violations of this run.
func (p *plot) legend() (out []string) {
	var tokens []string
	for _, b := range p.t.Beliefs {
		if b.token != 0 && p.overlaps(b.From, b.Until) {
			tokens = union(tokens, b.who+" "+p.t.token(b.token))
		}
	}
	if len(tokens) > 0 {
		out = append(out, "Tokens: "+strings.Join(tokens, ", ")+".")
	}
	if slices.Contains(p.t.Processes, "witness") && p.active("witness") {
		out = append(out, "The last thin bars are those of the witness, a client that tries to get each lock after the others have ended.")
	}
	for _, v := range p.t.violations {
		kind, text, _ := strings.Cut(p.t.violated(v), ": ")
		if text != "" {
			out = append(out, fmt.Sprintf("%q: %s.", strings.ToLower(kind), text))
		}
	}
	return out
}
