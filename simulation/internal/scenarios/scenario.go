package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

var (
	// ErrUnknown is wrapped by the error for a scenario that isn't in the list, or
	// for a design that a scenario has no verdict for.
	ErrUnknown = errors.New("scenarios: unknown")
	// ErrUnexpected is wrapped by the error for a run that didn't end as the
	// scenario says.
	ErrUnexpected = errors.New("scenarios: not as expected")
)

// Scenario is one story, and how it must end for each design that it is played
// with.
type Scenario struct {
	// ID is the scenario's number in the list ("S4"), with a letter for a form of
	// it ("S4b").
	ID    string
	Title string
	// Steps is what happens, in words; times are in milliseconds from the
	// beginning of the story.
	Steps []string
	// Assumption is what lock designs take for granted and what isn't so here;
	// Breaks is what is lost by that, and Helps what saves it.
	Assumption, Breaks, Helps string
	// Source is who claimed it, and where.
	Source string

	// Base is the world before a design has set up its part of it.
	Base simulation.Config
	// Schedule is what goes wrong; Alone, if set, is that for designs that use the
	// server A alone.
	Schedule, Alone simulation.Schedule
	Work            simulation.Workload
	// Free is when the lock must be free to be had.
	Free []Free

	// Verdicts is how it ends, by the designs' names. A design that isn't listed
	// isn't played.
	Verdicts map[string]Verdict
	// Reached names what must have happened in every run (see Verdict.Reached).
	Reached []string
	// Variants are designs that are played in this scenario alone: clients with one
	// mistake, or the library with one setting changed.
	Variants []designs.Design
	// NoCure says why no design in the list ends without a violation, where none
	// does.
	NoCure string
}

// Verdict is how a scenario ends for one design.
type Verdict struct {
	// Kinds is what the checks find in every run, sorted and each once. Empty:
	// nothing.
	Kinds []simulation.ViolationKind
	// AtLeast, if not 0, makes it a verdict on many runs: of these a share of at
	// least so much (0 to 1) shows Kinds, and the others nothing.
	AtLeast float64
	// Reached names what must have happened in every run: one of Log.Counts, or
	// a process and an entry of its history ("c2 write"). Never names what must
	// not.
	Reached, Never []string
}

// Safe reports whether nothing goes wrong.
func (v Verdict) Safe() bool { return len(v.Kinds) == 0 }

// String is "none", or the kinds.
func (v Verdict) String() string {
	if v.Safe() {
		return "none"
	}
	return list(v.Kinds)
}

func list(kinds []simulation.ViolationKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// Free is a demand on a lock's liveness: between two moments of the true time
// somebody who asks must get it.
type Free struct {
	// Process is who must get it: "c2", or simulation.Any for one of them.
	Process string
	// After and By are counted from the beginning of the story.
	After, By time.Duration
}

// Design gives a design that the scenario has a verdict for: one of designs.All or
// of its own Variants. The error Is ErrUnknown.
func (s Scenario) Design(name string) (designs.Design, error) {
	if _, ok := s.Verdicts[name]; !ok {
		return designs.Design{}, fmt.Errorf("%w: %s isn't played with a design %q; it has %s", ErrUnknown, s.ID, name, strings.Join(s.names(), ", "))
	}
	for _, d := range s.Variants {
		if d.Name == name {
			return d, nil
		}
	}
	return designs.ByName(name)
}

// Designs gives the designs that the scenario has verdicts for: those of
// designs.All in their order, then its Variants.
func (s Scenario) Designs() []designs.Design {
	var played []designs.Design
	for _, d := range append(designs.All(), s.Variants...) {
		if _, ok := s.Verdicts[d.Name]; ok {
			played = append(played, d)
		}
	}
	return played
}

func (s Scenario) names() []string {
	var names []string
	for _, d := range s.Designs() {
		names = append(names, d.Name)
	}
	return names
}

// Setting gives the world and the schedule in which the scenario is played with a
// design: what Play hands to simulation.Run.
func (s Scenario) Setting(d designs.Design) (simulation.Config, simulation.Schedule) {
	cfg, schedule := s.Base, s.Schedule
	if d.Apply != nil {
		d.Apply(&cfg)
	}
	if d.Servers == 1 && s.Alone != nil {
		schedule = s.Alone
	}
	return cfg, schedule
}

// Play plays one run. To what simulation.Run finds it adds the violations of Free,
// as simulation.NoProgress. All errors are simulation.ErrConfig.
func (s Scenario) Play(seed uint64, d designs.Design) (simulation.Result, error) {
	cfg, schedule := s.Setting(d)
	r, err := simulation.Run(seed, cfg, schedule, s.Work)
	if err != nil {
		return r, fmt.Errorf("%s with %s: %w", s.ID, d.Name, err)
	}
	return s.Judge(r), nil
}

// PlaySchedule plays one run of the scenario's clients with a schedule of your own. What
// the scenario demands for its own schedule isn't demanded then.
func (s Scenario) PlaySchedule(seed uint64, d designs.Design, schedule simulation.Schedule) (simulation.Result, error) {
	cfg, _ := s.Setting(d)
	r, err := simulation.Run(seed, cfg, schedule, s.Work)
	if err != nil {
		return r, fmt.Errorf("%s with %s: %w", s.ID, d.Name, err)
	}
	return r, nil
}

// Judge records in a run what the scenario itself demands and didn't get, see Free.
func (s Scenario) Judge(r simulation.Result) simulation.Result {
	for _, f := range s.Free {
		if v, broken := f.judge(r.Log); broken {
			r = r.With(v)
		}
	}
	return r
}

func (f Free) judge(log simulation.Log) (simulation.Violation, bool) {
	for e := range log.All() {
		if e.Kind == simulation.Acquired && matches(f.Process, e.Process) && e.At >= at(f.After) && e.At <= at(f.By) {
			return simulation.Violation{}, false
		}
	}
	who := f.Process
	if who == simulation.Any {
		who = "nobody"
	} else {
		who += " never"
	}
	return simulation.Violation{
		Kind: simulation.NoProgress, At: at(f.By),
		Text: fmt.Sprintf("%s got the lock from %v to %v of the story", who, f.After, f.By),
	}, true
}

func matches(pattern, name string) bool { return pattern == simulation.Any || pattern == name }

// Check says whether a run ended as it must. The error Is ErrUnexpected, or
// ErrUnknown for a design that the scenario has no verdict for.
func (s Scenario) Check(r simulation.Result, d designs.Design) error {
	want, ok := s.Verdicts[d.Name]
	if !ok {
		_, err := s.Design(d.Name)
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s with %s: %s", ErrUnexpected, s.ID, d.Name, fmt.Sprintf(format, args...))
	}
	got := r.Kinds()
	if !slices.Equal(got, want.Kinds) && (want.AtLeast == 0 || len(got) > 0) {
		return fail("found %v, want %v: %v", Verdict{Kinds: got}, want, r.Log.Violations())
	}
	for _, what := range slices.Concat(s.Reached, want.Reached) {
		if happened(r, what) == 0 {
			return fail("%q never happened, so that the verdict %q proves nothing", what, want)
		}
	}
	for _, what := range want.Never {
		if n := happened(r, what); n > 0 {
			return fail("%q happened %d times, and mustn't", what, n)
		}
	}
	return nil
}

// CheckRate is Check for many runs of a design, of which violated came to a
// violation; it says something only where the verdict is one on many runs.
func (s Scenario) CheckRate(violated, runs int, d designs.Design) error {
	want := s.Verdicts[d.Name]
	if share := float64(violated) / float64(max(1, runs)); share < want.AtLeast {
		return fmt.Errorf("%w: %s with %s: %d of %d runs came to %v, want a share of %v at least", ErrUnexpected, s.ID, d.Name, violated, runs, want, want.AtLeast)
	}
	return nil
}

// happened counts what a Verdict's Reached can name.
func happened(r simulation.Result, what string) int {
	n := r.Log.Counts()[what]
	if process, did, ok := strings.Cut(what, " "); ok {
		for _, e := range r.Log.History() {
			if e.Process == process && e.Kind.String() == did {
				n++
			}
		}
	}
	return n
}
