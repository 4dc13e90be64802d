//go:build unix

package live_test

import (
	"testing"

	"github.com/redquorum/redlock/simulation/live"
)

func TestActs(t *testing.T) {
	r, err := live.Run(t.Context(), live.Options{Progress: func(l live.Line) {
		t.Logf("%-5s %-14s %-16s pred=%v seen=%v ok=%v judge=%v again=%d %v %v err=%s skip=%s", l.Scenario, l.Form, l.Design, l.Predicted, l.Seen, l.OK(), l.JudgeAgrees, l.Again, l.Took, l.Notes, l.Err, l.Skipped)
	}})
	t.Log(r.Server, r.Played, r.Skipped, r.Disagreements, r.Took, err)
}
