package scenarios_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt")

// The transcripts have each scenario with the first design that breaks and the first that
// doesn't: what the clients do and believe, and where they are wrong.
func TestTranscripts(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.ID, func(t *testing.T) {
			file := filepath.Join("testdata", s.ID+".txt")
			got := transcript(t, s)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run go test ./simulation/internal/scenarios -run Transcripts -update")
			assert.Equal(t, string(want), got, "%s goes another way now. If the verdicts still hold (TestVerdicts) and you know which change "+
				"to the protocol or to the simulation moved these lines, run go test ./simulation/internal/scenarios -run Transcripts -update, and read the difference", s.ID)
		})
	}
}

func transcript(t *testing.T, s scenarios.Scenario) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", s.ID, s.Title)
	for _, d := range shown(s) {
		r, err := s.Play(1, d)
		require.NoError(t, err)
		fmt.Fprintf(&text, "\n%s (%s)\n----\n", d.Name, d.Title)
		text.WriteString(strings.Join(lines(r), "\n") + "\n")
		fmt.Fprintf(&text, "verdict: %v\n", scenarios.Verdict{Kinds: r.Kinds()})
	}
	return text.String()
}

// shown returns the first design that breaks, preferably on five servers, and the first that
// doesn't, preferably on as many servers.
func shown(s scenarios.Scenario) []designs.Design {
	var show []designs.Design
	servers := 5
	for _, safe := range []bool{false, true} {
		fits := func(exactly bool) func(d designs.Design) bool {
			return func(d designs.Design) bool {
				return s.Verdicts[d.Name].Safe() == safe && (!exactly || d.Servers == servers)
			}
		}
		all := s.Designs()
		i := slices.IndexFunc(all, fits(true))
		if i < 0 {
			i = slices.IndexFunc(all, fits(false))
		}
		if i >= 0 {
			show = append(show, all[i])
			servers = all[i].Servers
		}
	}
	return show
}

// most is the largest number of lines of a run.
const most = 40

// lines returns the history, the faults and the violations. Times are in milliseconds from
// the beginning of the scenario.
func lines(r simulation.Result) []string {
	var all []string
	for e := range r.Log.All() {
		who, text := record.Who(e.Process, e.Goroutine), ""
		used := e.Kind == record.Read || e.Kind == record.Write
		switch {
		case e.Kind == record.Acquired, e.Kind == record.Extended, e.Kind == record.Looked:
			text = fmt.Sprintf("%s %v, and believes in %d more", who, e.Kind, e.Validity.Milliseconds())
		case e.Kind == record.Refused, e.Kind == record.Noted:
			text = fmt.Sprintf("%s %v: %s", who, e.Kind, e.Words)
		case used && e.Words == "refused":
			text = fmt.Sprintf("       the guard refuses %s's %v", e.Process, e.Kind)
		case e.Kind == record.Write && e.Words == "":
			text = fmt.Sprintf("%s write: version %d value %d", who, e.AsOf, e.Value)
		case e.Kind < record.Read, used && e.Words == "":
			text = fmt.Sprintf("%s %v", who, e.Kind)
		case e.Kind == record.Suffered:
			text = fmt.Sprintf("       %s suffers %s", strings.Trim(e.Process+"-"+e.Place, "-"), e.Fault.Kind)
		case e.Kind == record.Found:
			text = "       NOT SO: " + string(e.Violation.Kind)
		default:
			continue
		}
		all = append(all, fmt.Sprintf("%6d %s", (e.At-time.Second).Milliseconds(), text))
	}
	if len(all) > most {
		all = slices.Concat(all[:most/2], []string{fmt.Sprintf("   ... (%d lines)", len(all)-most)}, all[len(all)-most/2:])
	}
	return all
}
