package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// ErrRequest is wrapped by the error for a request that can't be read.
var ErrRequest = errors.New("play: bad request")

// request is a request of Answer.
type request struct {
	// Do is "list", "run", "search" or "shrink".
	Do string `json:"do"`
	// These are a Setup. A schedule of null is the base's own.
	Base   string          `json:"base"`
	Design string          `json:"design"`
	Seed   seed            `json:"seed"`
	Faults json.RawMessage `json:"schedule"`
	// These are for "search": the kinds of faults (empty: all), the largest number of them in a
	// run, and the number of runs. The seed is the first run's.
	Kinds []fault.Kind `json:"kinds"`
	Most  int          `json:"most"`
	Count int          `json:"count"`
}

// seed is a seed as text, because whole numbers of JavaScript end at 2^53.
type seed uint64

func (s *seed) UnmarshalJSON(raw []byte) error {
	var text string
	err := json.Unmarshal(raw, &text)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		*s = seed(n)
	}
	if err != nil {
		return fmt.Errorf("seed is %.30s, want a whole number in quotes, from \"0\" to \"%d\"", raw, uint64(math.MaxUint64))
	}
	return nil
}

// Answer answers a request in JSON:
//
//	{"do": "list"}
//	{"do": "run", "base": "S1", "design": "default", "seed": "7", "schedule": [...]}
//	{"do": "search", "base": "S1", "design": "default", "seed": "0", "kinds": ["pause"], "most": 4, "count": 10}
//	{"do": "shrink", "base": "S1", "design": "default", "seed": "7", "schedule": [...]}
//
// The answer to "list" is all scenarios, designs, faults of the matrix and kinds of faults. The
// answer to "run" is the result with a drawing. "search" plays random schedules until one
// breaks the lock, and "shrink" makes such a schedule smaller. Schedules are those of
// simulation.ReadSchedule; without one, the base's own is played. If something is wrong, the answer is
// {"error": "..."}.
//
// The answer depends only on the request, and is the same on every machine.
func Answer(text []byte) []byte {
	answer, err := answered(text)
	if err == nil {
		var out []byte
		if out, err = json.Marshal(answer); err == nil {
			return out
		}
	}
	out, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of texts has no values that JSON lacks
	return out
}

func answered(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var r request
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	switch r.Do {
	case "list":
		return everything(), nil
	case "run":
		return r.run()
	case "search":
		return r.search()
	case "shrink":
		return r.shrink()
	}
	return nil, fmt.Errorf("%w: do is %q, want list, run, search or shrink", ErrRequest, r.Do)
}

// runAnswer is a run as data.
type runAnswer struct {
	Base   string `json:"base"`
	Design string `json:"design"`
	Seed   uint64 `json:"seed,string"`
	// Schedule is the faults that were played. Own: they are the base's.
	Schedule simulation.Schedule `json:"schedule"`
	Own      bool                `json:"own"`
	// Expected is the expected verdict, or "anything". AsExpected says whether it was found, and
	// Unexpected what is different.
	Expected   string `json:"expected"`
	AsExpected bool   `json:"asExpected"`
	Unexpected string `json:"unexpected"`
	// Verdict is the kinds of violations in words, or "none".
	Verdict string `json:"verdict"`
	// Hash is the trace's SHA-256.
	Hash string `json:"hash"`
	// Arguments are those of redlocksim that play the same run.
	Arguments string `json:"arguments"`
	// Processes and Servers are those that faults can name, SVG is the drawing, and Steps are the run
	// in sentences.
	Processes []string        `json:"processes"`
	Servers   []string        `json:"servers"`
	SVG       string          `json:"svg"`
	Steps     []timeline.Step `json:"steps"`
	// Legend explains the drawing's signs and the violations. Nobody: no process got a lock.
	Legend []string `json:"legend"`
	Nobody bool     `json:"nobody"`
	// Begin is a moment at which a fault hits a holder: soon after the first lease was granted.
	Begin time.Duration `json:"begin"`
	// Idle are the indices of the faults without which the run is the same. They are looked for
	// only in short schedules that aren't the base's own.
	Idle []int `json:"idle"`
}

// mostTried is the number of faults up to which each is tried without, because each takes another run.
const mostTried = 8

// idle returns the faults of a schedule without which a run is the same.
func (s Setup) idle(steps []timeline.Step) (list []int, err error) {
	list = []int{}
	if len(s.Schedule) == 0 || len(s.Schedule) > mostTried {
		return list, nil
	}
	happened := func(steps []timeline.Step) []timeline.Step {
		return slices.DeleteFunc(slices.Clone(steps), func(s timeline.Step) bool { return s.Fault })
	}
	whole, schedule := happened(steps), s.Schedule
	for i := range schedule {
		s.Schedule = slices.Delete(slices.Clone(schedule), i, i+1)
		run, err := Play(s)
		if err != nil {
			return nil, err
		}
		if slices.EqualFunc(whole, happened(timeline.Of(run.Result.Log).Story()), func(a, b timeline.Step) bool { return a.At == b.At && a.Text == b.Text }) {
			list = append(list, i)
		}
	}
	return list, nil
}

// schedule reads the schedule. It is nil without one.
func (r request) schedule() (simulation.Schedule, error) {
	if len(r.Faults) == 0 || string(r.Faults) == "null" {
		return nil, nil
	}
	return simulation.ReadSchedule(r.Faults)
}

func (r request) run() (runAnswer, error) {
	schedule, err := r.schedule()
	if err != nil {
		return runAnswer{}, err
	}
	setup := Setup{Base: r.Base, Design: r.Design, Seed: uint64(r.Seed), Schedule: schedule}
	run, err := Play(setup)
	if err != nil {
		return runAnswer{}, err
	}
	setup.Base, setup.Design = run.Name, run.Design.Name
	tl := timeline.Of(run.Result.Log)
	c := drawing.Canvas{Title: run.Name + ": " + run.Title + ", with " + run.Design.Name}
	legend := tl.Draw(&c, "")
	a := runAnswer{
		Base: run.Name, Design: run.Design.Name, Seed: run.Seed,
		Schedule: append(simulation.Schedule{}, run.Schedule...), Own: setup.Schedule == nil,
		Expected: run.Expected, AsExpected: run.Unexpected == nil, Verdict: Found(run.Result),
		Hash: run.Result.Log.Digest(), Processes: append([]string{}, tl.Processes...), Servers: append([]string{}, tl.Servers...),
		SVG: c.Inline(), Steps: append([]timeline.Step{}, tl.Story()...),
		Legend: append([]string{}, legend...), Nobody: len(tl.Beliefs) == 0, Begin: tl.Held(),
	}
	if a.Idle, err = setup.idle(a.Steps); err != nil {
		return a, err
	}
	if run.Unexpected != nil {
		a.Unexpected = run.Unexpected.Error()
	}
	if a.Arguments, err = setup.Arguments(); err != nil {
		return a, err
	}
	return a, nil
}

// listAnswer is all names, with what they mean.
type listAnswer struct {
	Scenarios []scenarioAnswer `json:"scenarios"`
	Faults    []faultAnswer    `json:"faults"`
	Designs   []designAnswer   `json:"designs"`
	Kinds     []fault.Traits   `json:"kinds"`
}

type scenarioAnswer struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Steps []string `json:"steps"`
	// Designs are those that it has verdicts for, in the order of the list of designs. A design
	// that isn't in that list is for this scenario alone.
	Designs []designAnswer `json:"designs"`
}

// faultAnswer is a column of the matrix.
type faultAnswer struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

type designAnswer struct {
	Name  string        `json:"name"`
	Title string        `json:"title"`
	Group designs.Group `json:"group"`
}

func everything() listAnswer {
	var all listAnswer
	for _, s := range scenarios.All() {
		a := scenarioAnswer{ID: s.ID, Title: s.Title, Steps: s.Steps}
		for _, d := range s.Designs() {
			a.Designs = append(a.Designs, designAnswer{d.Name, d.Title, d.Group})
		}
		all.Scenarios = append(all.Scenarios, a)
	}
	for _, f := range cells.Faults() {
		all.Faults = append(all.Faults, faultAnswer{f.Name, f.Title})
	}
	for _, d := range designs.All() {
		all.Designs = append(all.Designs, designAnswer{d.Name, d.Title, d.Group})
	}
	all.Kinds = fault.All()
	return all
}
