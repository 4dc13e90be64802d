package scenarios_test

import (
	"cmp"
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
		for _, line := range lines(r) {
			text.WriteString(line.text + "\n")
		}
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

// line is one line of a transcript, and its true time.
type line struct {
	at   time.Duration
	text string
}

// most is the largest number of lines of a run.
const most = 40

// lines returns the history, the faults and the violations. Times are in milliseconds from
// the beginning of the scenario.
func lines(r simulation.Result) []line {
	var all []line
	add := func(at time.Duration, format string, args ...any) {
		all = append(all, line{at, fmt.Sprintf("%6d %s", (at - time.Second).Milliseconds(), fmt.Sprintf(format, args...))})
	}
	for _, e := range r.Log.History() {
		who := record.Who(e.Process, e.Goroutine)
		switch e.Kind {
		case record.Acquired, record.Extended, record.Looked:
			add(e.At, "%s %v, and believes in %d more", who, e.Kind, e.Validity.Milliseconds())
		case record.Refused, record.Noted:
			add(e.At, "%s %v: %s", who, e.Kind, e.Words)
		case record.Write:
			add(e.At, "%s write: version %d value %d", who, e.AsOf, e.Value)
		default:
			add(e.At, "%s %v", who, e.Kind)
		}
	}
	for e := range r.Log.All() {
		// The history lacks faults and refusals of guards.
		switch {
		case e.Kind == record.Suffered && e.Process != "" && e.Place != "":
			add(e.At, "       %s-%s suffers %s", e.Process, e.Place, e.Fault.Kind)
		case e.Kind == record.Suffered:
			add(e.At, "       %s suffers %s", e.Process+e.Place, e.Fault.Kind)
		case (e.Kind == record.Read || e.Kind == record.Write) && e.Words == "refused":
			add(e.At, "       the guard refuses %s's %v", e.Process, e.Kind)
		}
	}
	for _, v := range r.Log.Violations() {
		add(v.At, "       NOT SO: %s", v.Kind)
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	if len(all) > most {
		left := len(all) - most
		all = append(all[:most/2:most/2], append([]line{{text: fmt.Sprintf("   ... (%d lines)", left)}}, all[len(all)-most/2:]...)...)
	}
	return all
}
