package orders

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/search"
)

// Row sums up the walks in one world with faults of one kind.
type Row struct {
	World  string        `json:"world"`
	Faults string        `json:"faults"`
	Walks  int           `json:"walks"`
	Open   int           `json:"open,omitempty"` // the walks that aren't finished
	Runs   uint64        `json:"orders"`
	Took   time.Duration `json:"took_ns"`
	Found  []string      `json:"found,omitempty"`
}

// Record is what docs/testdata/orders.json keeps of the walks of a plan.
type Record struct {
	Plan Plan  `json:"plan"`
	Rows []Row `json:"rows"`
}

// Table sums up walks by world and by the kinds of their faults, in the order of the walks.
func Table(walks []Walk) []Row {
	var rows []Row
	for i := range walks {
		w := &walks[i]
		name := w.faults()
		at := slices.IndexFunc(rows, func(r Row) bool { return r.World == w.Setup.Workload && r.Faults == name })
		if at < 0 {
			at = len(rows)
			rows = append(rows, Row{World: w.Setup.Workload, Faults: name})
		}
		r := &rows[at]
		r.Walks++
		if !w.Tree.Over {
			r.Open++
		}
		r.Runs, r.Took = r.Runs+w.Tree.Runs, r.Took+w.Took
		for _, f := range w.Found {
			if words := inWords(f); !slices.Contains(r.Found, words) {
				r.Found = append(r.Found, words)
			}
		}
	}
	return rows
}

// inWords is the kind of violation, and the assumption that was broken.
func inWords(f search.Finding) string {
	if f.Assumption == 0 {
		return string(f.Kind)
	}
	return fmt.Sprintf("%s (assumption %d)", f.Kind, f.Assumption)
}

// faults names the kinds of the walk's faults.
func (w *Walk) faults() string {
	var names []string
	for _, f := range w.Setup.Schedule[len(given(w.Setup.Workload)):] {
		names = append(names, name(f))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " + ")
}

// name names a kind of fault.
func name(f fault.Fault) string {
	switch {
	case f.Kind == fault.Step && f.Server != "":
		return "step of a server's clock"
	case f.Kind == fault.Step:
		return "step of a client's clock"
	case f.Kind == fault.Restart && f.Keep == fault.KeepNothing:
		return "restart without data"
	case f.Kind == fault.Restart:
		return "restart with all data"
	case f.Kind == fault.Failover:
		return "promotion without the last second"
	case f.Kind == fault.Evict:
		return "lost key"
	case f.Kind == fault.Lose:
		return "lost " + string(f.Way)
	}
	return string(f.Kind)
}
