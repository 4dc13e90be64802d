package matrix

import (
	"fmt"

	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Opening plays the same pause twice, without and with a resource that checks tokens. It
// shows what a lock that expires can and cannot do.
func Opening() (report.Opening, error) {
	o := report.Opening{
		Words: "The holder is paused for longer than its lease, wakes up, and writes: no lock that expires can prevent that, but a resource that checks the lock's token refuses the write.",
	}
	s, err := scenarios.ByID("S1")
	if err != nil {
		return o, err
	}
	for _, run := range []struct{ design, title string }{
		{"default", "No token check: c2's update is lost"},
		{"token-admit", "Token check: the late write is refused"},
	} {
		d, err := s.Design(run.design)
		if err != nil {
			return o, err
		}
		const seed = 1
		r, err := s.Play(seed, d)
		if err != nil {
			return o, err
		}
		if err := s.Check(r, d); err != nil {
			return o, fmt.Errorf("matrix: the opening's run: %w", err)
		}
		o.Runs = append(o.Runs, report.TimelineRun{
			ID: "opening-" + d.Name, Title: run.title, Command: command(s.ID, d.Name, seed), Log: r.Log,
		})
	}
	return o, nil
}
