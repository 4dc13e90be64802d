package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// ErrRequest is wrapped by the error for a request that can't be read.
var ErrRequest = errors.New("play: bad request")

// Answer plays a Setup in JSON, and returns the result with a drawing, also in JSON:
//
//	{"base": "S1", "design": "default", "seed": "7", "schedule": [...]}
//
// Schedules are those of simulation.ReadSchedule; without one, the base's own is played. If
// something is wrong, the answer is {"error": "..."}.
//
// The answer depends only on the request, and is the same on every machine.
func Answer(request []byte) []byte {
	var text []byte
	setup, err := read(request)
	if err == nil {
		text, err = setup.answer()
	}
	if err != nil {
		text, _ = json.Marshal(map[string]string{"error": err.Error()}) // texts have no values that JSON lacks
	}
	return text
}

// read reads a request.
func read(text []byte) (s Setup, err error) {
	var request struct {
		Base, Design string
		Seed         uint64 `json:",string"` // whole numbers of JavaScript end at 2^53
		Schedule     json.RawMessage
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return s, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	s.Base, s.Design, s.Seed = request.Base, request.Design, request.Seed
	if len(request.Schedule) > 0 && string(request.Schedule) != "null" {
		s.Schedule, err = simulation.ReadSchedule(request.Schedule)
	}
	return s, err
}

// answer is a run as data. Lists are never null.
type answer struct {
	// Schedule is the faults that were played.
	Schedule simulation.Schedule `json:"schedule"`
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
	// Legend explains the run's tokens and violations. Nobody: no process got a lock.
	Legend []string `json:"legend"`
	Nobody bool     `json:"nobody"`
	// Begin is a moment at which a fault hits a holder: soon after the first lease was granted.
	Begin time.Duration `json:"begin"`
}

func (s Setup) answer() ([]byte, error) {
	run, err := Play(s)
	if err != nil {
		return nil, err
	}
	tl := timeline.Of(run.Result.Log)
	c := drawing.Canvas{Title: run.Base + ": " + run.Title + ", with " + run.Design}
	a := answer{
		Schedule: append(simulation.Schedule{}, run.Faults...),
		Expected: run.Expected, Verdict: Found(run.Result), Hash: run.Result.Log.Digest(),
		Processes: append([]string{}, tl.Processes...), Servers: append([]string{}, tl.Servers...),
		Legend: append([]string{}, tl.Draw(&c)...), Steps: append([]timeline.Step{}, tl.Story()...),
		Nobody: len(tl.Beliefs) == 0, Begin: tl.Held(),
	}
	a.SVG = c.Inline()
	if run.Unexpected != nil {
		a.Unexpected = run.Unexpected.Error()
	}
	if a.Arguments, err = run.Arguments(); err != nil {
		return nil, err
	}
	return json.Marshal(a)
}
