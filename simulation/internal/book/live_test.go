package book_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/live"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func init() {
	generators["live"] = func([]string) (string, error) { return liveTable() }
	generators["live-servers"] = func([]string) (string, error) { return liveServers() }
}

// liveFiles have the latest outcomes of the scenarios on real servers, a file for each kind of them. .ci/record live
// writes them. That takes minutes, so a test can't repeat it. It checks the files against the simulation's current
// verdicts.
const liveFiles = "testdata/live/*.json"

// recordedLive are the reports, that of the installed server first.
func recordedLive() (all []live.Report, err error) {
	files, err := filepath.Glob(liveFiles)
	for _, file := range files {
		r, err := readRecorded[live.Report](file)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 0 && err == nil {
		err = fmt.Errorf("there is no %s: run .ci/record live", liveFiles)
	}
	return all, err
}

func TestRecordedLiveRunIsFresh(t *testing.T) {
	all, err := recordedLive()
	require.NoError(t, err)
	for _, r := range all {
		recorded := map[string]bool{}
		for _, l := range r.Lines {
			recorded[l.Scenario] = true
			assert.True(t, l.OK(), "%s with %s on %s", l.Scenario, l.Design, r.Server)
			s, err := scenarios.ByID(l.Scenario)
			require.NoError(t, err)
			_, err = s.Design(l.Design)
			require.NoError(t, err)
			if l.Skipped == "" {
				assert.Equal(t, live.Visible(s, l.Design).String(), scenarios.Verdict{Kinds: l.Seen}.String(), "%s with %s: the simulation says something else now; run .ci/record live", l.Scenario, l.Design)
			}
		}
		for _, a := range live.Cases() {
			assert.True(t, recorded[a.Scenario], "%s is played live and not recorded on %s: run .ci/record live", a.Scenario, r.Server)
		}
	}
}

// liveTable has a row for each scenario.
func liveTable() (string, error) {
	all, err := recordedLive()
	if err != nil {
		return "", err
	}
	r := all[0]
	var rows [][]string
	for _, l := range r.Lines {
		if l.Skipped == "" && (len(rows) == 0 || rows[len(rows)-1][0] != l.Scenario) {
			rows = append(rows, []string{l.Scenario, l.Fault})
		}
	}
	return table("scenario | what is done for real", rows), nil
}

// liveServers has a row for each kind of server.
func liveServers() (string, error) {
	all, err := recordedLive()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range all {
		again := 0
		for _, l := range r.Lines {
			if l.Plays > 1 {
				again++
			}
		}
		rows = append(rows, []string{r.Server, fmt.Sprint(r.Played), fmt.Sprint(r.Played - r.Disagreements), fmt.Sprint(again), fmt.Sprint(r.Skipped)})
	}
	return table("servers | plays | agreed | of them not in the first play | skipped", rows), nil
}
