package quorum

import (
	"reflect"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// env is what all parts of a Coordinator share: its settings, clocks and randomness, and the count of what runs in the
// background.
type env struct {
	cfg        Config
	majority   majority.Majority
	clock      clock.Clock
	reader     *drift.Reader
	random     *random
	background *background
}

// newEnv makes the env of a Config that is complete.
func newEnv(cfg Config) *env {
	source := &random{reader: cfg.Lab.Random}
	cfg.Lab.Random = source // which is safe for concurrent use
	return &env{
		cfg:        cfg,
		majority:   majority.Majority{N: cfg.Set.N, Q: cfg.Quorum},
		clock:      cfg.Lab.Clock,
		reader:     newReader(cfg.Lab.Clock),
		random:     source,
		background: newBackground(),
	}
}

// newReader makes the reader of a clock: the faster one if it is the machine's own clock.
func newReader(c clock.Clock) *drift.Reader {
	if reflect.TypeOf(c) == reflect.TypeOf(clock.New()) {
		return drift.SystemReader()
	}
	return drift.NewReader(c)
}

// closed reports whether Close was called.
func (e *env) closed() bool { return e.background.isClosed() }

// roundError makes a RoundError that has yet to get its votes.
func (e *env) roundError(op wire.Op, all keys, verdict error) *RoundError {
	return &RoundError{Op: op, Key: all[0], Also: all.others(), Verdict: verdict, Quorum: e.majority.Q}
}
