package book_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/live"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

func init() {
	generators["live"] = func([]string) (string, error) { return liveTable() }
}

// liveFile has the latest outcomes of the scenarios on real servers:
//
//	go run ./simulation/cmd/redlocksim live -format json > docs/testdata/live.json
//
// That takes a redis-server and most of a minute, so a test can't repeat it. It checks the file
// against the simulation's current verdicts.
const liveFile = "testdata/live.json"

func recordedLive() (live.Report, error) { return readRecorded[live.Report](liveFile) }

func TestRecordedLiveRunIsFresh(t *testing.T) {
	r, err := recordedLive()
	require.NoError(t, err)
	recorded := map[string]bool{}
	for _, l := range r.Lines {
		recorded[l.Scenario] = true
		if l.Skipped != "" {
			continue
		}
		assert.True(t, l.OK() && slices.Equal(l.Predicted, l.Seen), "%s with %s", l.Scenario, l.Design)
		if l.Form != "" {
			continue // played in a different environment from the scenario's
		}
		s, err := scenarios.ByID(l.Scenario)
		require.NoError(t, err)
		verdict, known := s.Verdicts[l.Design]
		assert.True(t, known, "%s isn't played with %s any more", l.Scenario, l.Design)
		visible := slices.DeleteFunc(slices.Clone(verdict.Kinds), func(k record.ViolationKind) bool {
			return k == record.Overvalued // needs a view of all servers at one moment
		})
		assert.ElementsMatch(t, visible, l.Predicted, "%s with %s: the simulation says something else now; play it again (see liveFile)", l.Scenario, l.Design)
	}
	for _, a := range live.Cases() {
		assert.True(t, recorded[a.Scenario], "%s is played live and not recorded (see liveFile)", a.Scenario)
	}
}

// liveTable has a row for each play, and how it ended if that isn't what its scenario says of the designs.
func liveTable() (string, error) {
	r, err := recordedLive()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, l := range r.Lines {
		name := strings.TrimSpace(l.Scenario + " " + l.Form)
		if l.Skipped != "" || len(rows) > 0 && rows[len(rows)-1][0] == name {
			continue
		}
		row := []string{name, l.Fault}
		if l.Form != "" { // in an environment that isn't the scenario's
			row[1] += fmt.Sprintf(". `%s`: **%v**", l.Design, scenarios.Verdict{Kinds: l.Seen})
		}
		rows = append(rows, row)
	}
	return table("scenario | what is done for real", rows), nil
}
