package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func TestList(t *testing.T) {
	all, _ := does(t, exitOK, "list")
	for _, s := range scenarios.All() {
		assert.True(t, strings.Contains(all, "  "+s.ID+" ") && strings.Contains(all, s.Title+"\n"), s.ID)
	}
	for _, d := range designs.All() {
		assert.True(t, strings.Contains(all, "  "+d.Name+" "), d.Name)
	}
	for what, lines := range map[string][]string{
		"S26":   {`^  default +stale write, two holders$`, `^  token-admit +two holders \(no harm: the resource checks tokens\)$`},
		"":      {`^  S26 +10 of 14 `, `^  pause +clients stop`, `\(-faults restart,step\): pause suspend `},
		"s4":    {`^S4: A server's clock jumps forward$`, `Kleppmann`, `^  redlock +stale write, two holders$`, `^  default +none$`},
		"S4b":   {`^what helps: nothing: `},
		"pause": {`^source: Kleppmann 2016`, `^  token-admit +no run should break this lock, because the resource`},

		"redlock": {`^breaks by: a pause`, `^  S4 +A server's clock jumps forward: stale write, two holders$`},
	} {
		out, _ := does(t, exitOK, strings.Fields("list "+what)...)
		for _, line := range lines {
			assert.Regexp(t, "(?m)"+line, out, what)
		}
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
		}
	}
}
