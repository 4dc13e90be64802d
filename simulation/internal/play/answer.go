package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// ErrRequest is wrapped by the error for a request that can't be read.
var ErrRequest = errors.New("play: bad request")

// request is a Setup as data. A schedule of null is the base's own.
type request struct {
	Base   string `json:"base"`
	Design string `json:"design"`
	// Seed is a text, because whole numbers of JavaScript end at 2^53.
	Seed     string          `json:"seed"`
	Schedule json.RawMessage `json:"schedule"`
}

// Answer plays a Setup in JSON, and returns the result with a drawing, also in JSON:
//
//	{"base": "S1", "design": "default", "seed": "7", "schedule": [...]}
//
// Schedules are those of simulation.ReadSchedule; without one, the base's own is played. If
// something is wrong, the answer is {"error": "..."}.
//
// The answer depends only on the request, and is the same on every machine.
func Answer(text []byte) []byte {
	var answer any
	setup, err := read(text)
	if err == nil {
		answer, err = setup.answer()
	}
	if err == nil {
		var out []byte
		if out, err = json.Marshal(answer); err == nil {
			return out
		}
	}
	out, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of texts has no values that JSON lacks
	return out
}

// read reads a request.
func read(text []byte) (s Setup, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var r request
	if err := decoder.Decode(&r); err != nil {
		return s, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	s.Base, s.Design = r.Base, r.Design
	if s.Seed, err = strconv.ParseUint(r.Seed, 10, 64); err != nil {
		return s, fmt.Errorf("%w: seed is %.30q, want a whole number from \"0\" to \"%d\"", ErrRequest, r.Seed, uint64(math.MaxUint64))
	}
	if len(r.Schedule) > 0 && string(r.Schedule) != "null" {
		s.Schedule, err = simulation.ReadSchedule(r.Schedule)
	}
	return s, err
}

// answer is a run as data.
type answer struct {
	// Schedule is the faults that were played. Own: they are the base's.
	Schedule simulation.Schedule `json:"schedule"`
	Own      bool                `json:"own"`
	// Expected is the expected verdict, or "anything". Unexpected is what is different, "" if nothing.
	Expected   string `json:"expected"`
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
	// Idle are the indices of the faults without which the run is the same for its clients. They are
	// looked for only in short schedules that aren't the base's own.
	Idle []int `json:"idle"`
}

func (s Setup) answer() (a answer, err error) {
	run, err := Play(s)
	if err != nil {
		return a, err
	}
	s.Base, s.Design = run.Name, run.Design.Name
	tl := timeline.Of(run.Result.Log)
	c := drawing.Canvas{Title: run.Name + ": " + run.Title + ", with " + run.Design.Name}
	a = answer{
		Schedule: append(simulation.Schedule{}, run.Schedule...), Own: s.Schedule == nil,
		Expected: run.Expected, Verdict: Found(run.Result), Hash: run.Result.Log.Digest(),
		Processes: append([]string{}, tl.Processes...), Servers: append([]string{}, tl.Servers...),
		Legend: append([]string{}, tl.Draw(&c)...), Steps: append([]timeline.Step{}, tl.Story()...),
		Nobody: len(tl.Beliefs) == 0, Begin: tl.Held(),
	}
	a.SVG = c.Inline()
	if run.Unexpected != nil {
		a.Unexpected = run.Unexpected.Error()
	}
	if a.Arguments, err = s.Arguments(); err != nil {
		return a, err
	}
	a.Idle = []int{}
	if len(s.Schedule) <= mostTried {
		a.Idle, err = s.idle(run.Result)
	}
	return a, err
}

// mostTried is the number of faults up to which each is tried without, because each takes another run.
const mostTried = 8

// idle returns the faults of a schedule without which clients do and are told the same.
func (s Setup) idle(whole simulation.Result) (list []int, err error) {
	list = []int{}
	for i := range s.Schedule {
		less := s
		less.Schedule = slices.Delete(slices.Clone(s.Schedule), i, i+1)
		run, err := Play(less)
		if err != nil {
			return nil, err
		}
		if reflect.DeepEqual(told(whole), told(run.Result)) {
			list = append(list, i)
		}
	}
	return list, nil
}

// told is what clients did and were told, without what they can't know.
func told(r simulation.Result) []record.Event {
	history := r.Log.History()
	for i := range history {
		history[i].Truth, history[i].Change = nil, nil
	}
	return history
}
