package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/record"
)

// ErrUnexpected: a run did not end as the scenario says.
var ErrUnexpected = errors.New("scenarios: not as expected")

// Scenario is a sequence of events, and how it must end with each design.
type Scenario struct {
	// ID is the number in the list ("S4"), with a letter for another form ("S4b").
	ID    string
	Title string
	// Steps describe the events. Times are in milliseconds from the beginning.
	Steps []string
	// Helps is the remedy.
	Helps string
	// Source is where the claim was made.
	Source string

	// Base is the configuration before a design changes it.
	Base simulation.Config
	// Schedule has the faults. Alone replaces it for designs that use the server A
	// alone, if it is not nil.
	Schedule, Alone simulation.Schedule
	// Scripts are what c1, c2, ... do.
	Scripts []Script
	// Free says when the lock must be available.
	Free []Free

	// Verdicts are the expected results by the designs' names. Other designs are not
	// used.
	Verdicts map[string]Verdict
	// Reached are events that must happen in every run, see Verdict.Reached.
	Reached []string
	// Variants are designs for this scenario alone: clients with one mistake, or the
	// library with one setting changed.
	Variants []designs.Design
}

// Verdict is the expected result of a scenario with one design.
type Verdict struct {
	// Kinds are the violations that the checks find in every run, sorted. Empty: none.
	Kinds []record.ViolationKind
	// Reached are events that must happen in every run: a counter of Log.Counts, or a
	// process and an entry of its history ("c2 write"). Never are events that must not.
	Reached, Never []string
}

// Safe reports whether there is no violation.
func (v Verdict) Safe() bool { return len(v.Kinds) == 0 }

// String returns the kinds, or "none".
func (v Verdict) String() string {
	if v.Safe() {
		return "none"
	}
	words := make([]string, len(v.Kinds))
	for i, k := range v.Kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// Free is a requirement of liveness: a client that asks between two moments of the true time
// must get the lock.
type Free struct {
	// Process is the client: "c2", or fault.Any for any of them.
	Process string
	// After and By count from the beginning of the scenario.
	After, By time.Duration
}

// Design returns a design that the scenario has a verdict for: one of designs.All or of
// Variants. The error Is byname.ErrUnknown.
func (s Scenario) Design(name string) (designs.Design, error) {
	return byname.Find("design of "+s.ID, name, s.Designs(), func(d designs.Design) string { return d.Name })
}

// Designs returns the designs that the scenario has verdicts for: those of designs.All in
// their order, then Variants.
func (s Scenario) Designs() []designs.Design {
	return slices.DeleteFunc(append(designs.All(), s.Variants...), func(d designs.Design) bool {
		_, ok := s.Verdicts[d.Name]
		return !ok
	})
}

// withSetting returns one of designs.All with one setting changed.
func withSetting(name, title, base string, change func(*simulation.Config)) designs.Design {
	d, err := designs.ByName(base)
	if err != nil {
		panic(err)
	}
	return designs.Design{
		Name: name, Title: title, Servers: d.Servers, Source: base + " with one change",
		Apply: func(cfg *simulation.Config) {
			d.Apply(cfg)
			change(cfg)
		},
	}
}

// Setting returns the configuration, the schedule and the clients of a run with a design.
func (s Scenario) Setting(d designs.Design) (simulation.Config, simulation.Schedule, simulation.Workload) {
	schedule := s.Schedule
	if d.Servers == 1 && s.Alone != nil {
		schedule = s.Alone
	}
	return d.Configure(s.Base), schedule, workload(s.Scripts)
}

// Play performs one run. Besides the violations of simulation.Run it has those of Free, as
// record.NoProgress. All errors are simulation.ErrConfig.
func (s Scenario) Play(seed uint64, d designs.Design) (simulation.Result, error) {
	cfg, schedule, work := s.Setting(d)
	r, err := simulation.Run(seed, cfg, schedule, work)
	if err != nil {
		return r, fmt.Errorf("%s with %s: %w", s.ID, d.Name, err)
	}
	return s.Judge(r), nil
}

// Judge adds the violations of Free to a result.
func (s Scenario) Judge(r simulation.Result) simulation.Result {
	for _, f := range s.Free {
		if f.met(r.Log) {
			continue
		}
		who := f.Process + " never"
		if f.Process == fault.Any {
			who = "nobody"
		}
		r = r.With(record.Violation{
			Kind: record.NoProgress, At: at(f.By),
			Text: fmt.Sprintf("%s got the lock from %v to %v of the story", who, f.After, f.By),
		})
	}
	return r
}

func (f Free) met(log record.Log) bool {
	for e := range log.All() {
		if e.Kind == record.Acquired && (f.Process == fault.Any || f.Process == e.Process) && e.At >= at(f.After) && e.At <= at(f.By) {
			return true
		}
	}
	return false
}

// Check reports whether a run ended as expected. The error Is ErrUnexpected, or
// byname.ErrUnknown for a design without a verdict.
func (s Scenario) Check(r simulation.Result, d designs.Design) error {
	want, ok := s.Verdicts[d.Name]
	if !ok {
		_, err := s.Design(d.Name)
		return err
	}
	got := r.Kinds()
	if !slices.Equal(got, want.Kinds) {
		return fmt.Errorf("%w: %s with %s: found %v, want %v: %v", ErrUnexpected, s.ID, d.Name, Verdict{Kinds: got}, want, r.Log.Violations())
	}
	want.Reached = slices.Concat(s.Reached, want.Reached)
	if err := want.Happened(r.Log); err != nil {
		return fmt.Errorf("%w: %s with %s: %w", ErrUnexpected, s.ID, d.Name, err)
	}
	return nil
}

// Happened returns an error if an event of Never happened, or an event of Reached did not.
func (v Verdict) Happened(log record.Log) error {
	for _, event := range v.Never {
		if n := happened(log, event); n > 0 {
			return fmt.Errorf("%q happened %d times, and mustn't", event, n)
		}
	}
	for _, event := range v.Reached {
		if happened(log, event) == 0 {
			return fmt.Errorf("%q never happened, so that the verdict %q proves nothing", event, v)
		}
	}
	return nil
}

// happened counts an event of Verdict.Reached.
func happened(log record.Log, event string) int {
	n := log.Counts()[event]
	if process, kind, ok := strings.Cut(event, " "); ok {
		for _, e := range log.History() {
			if e.Process == process && e.Kind.String() == kind {
				n++
			}
		}
	}
	return n
}
