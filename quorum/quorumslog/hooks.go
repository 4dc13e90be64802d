// Package quorumslog writes what a Coordinator does to a log/slog Logger: one
// structured record for each event.
//
//	cfg.Hooks = quorumslog.Hooks(logger)
//
// Lock values are never written, because whoever knows one can release the lock;
// where a server's error repeats one (an unknown command is answered with its
// arguments), it is cut short.
package quorumslog

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Hooks writes every event to logger. Nil stands for slog.Default(), looked up at each event, so
// that a later slog.SetDefault counts. To leave an event out, set its hook to nil.
//
// The level is debug for rounds, for waits that start, and for extensions, because there are many;
// error for a clock that jumped, because locks rest on clocks and somebody has to see to the
// server's time service; warn for a lease that was lost or found lost at its release, for a time in
// which no lock can be taken, and for what an instance can't do; and info for the others: a lease
// that was acquired or released, and a wait that was for another holder or was given up.
//
// Durations are slog durations, tokens unsigned integers; a token of 0 (fencing
// is off) is left out. The context of an event reaches the handler.
func Hooks(logger *slog.Logger) quorum.Hooks {
	s := sink{logger}
	return quorum.Hooks{
		RoundStarted: func(ctx context.Context, e quorum.RoundStart) {
			s.write(ctx, slog.LevelDebug, "lock round started", slog.String("op", e.Op.String()), slog.String("key", e.Key), slog.Int("try", e.Try), also(e.Also))
		},
		RoundDecided: s.roundDecided,
		WaitStarted: func(ctx context.Context, e quorum.WaitStart) {
			s.write(ctx, slog.LevelDebug, "lock wait started", slog.String("key", e.Key), slog.Int("waiters", e.Waiters), also(e.Also))
		},
		WaitEnded: s.waitEnded,
		Acquired:  func(ctx context.Context, e quorum.LeaseEvent) { s.lease(ctx, slog.LevelInfo, "lock acquired", e) },
		Extended:  func(ctx context.Context, e quorum.LeaseEvent) { s.lease(ctx, slog.LevelDebug, "lock extended", e) },
		Released:  s.released,
		Lost:      func(e quorum.LeaseEvent) { s.lease(context.Background(), slog.LevelWarn, "lock lost", e) },
		Waiting: func(ctx context.Context, e quorum.WaitEvent) {
			lasts := slog.Duration("for", e.For)
			if e.Last != nil {
				lasts = slog.Duration("lasted", e.Lasted)
			}
			s.write(ctx, slog.LevelWarn, e.String(), slog.String("key", e.Key), lasts)
		},
		Quarantined: func(e quorum.QuarantineEvent) {
			var attrs []slog.Attr
			if e.Err != nil {
				attrs = []slog.Attr{
					slog.String("reason", e.Err.Reason.String()), slog.String("detail", e.Err.Detail),
					slog.Duration("remaining", e.Err.Remaining), slog.Time("until", e.Err.Until),
				}
			}
			s.instance(slog.LevelWarn, "instance quarantined", e.Instance, attrs...)
		},
		ClockJumped: func(e quorum.ClockEvent) {
			attrs := []slog.Attr{slog.Duration("by", e.Jump.By), slog.Duration("within", e.Jump.Within)}
			if e.Everywhere {
				attrs = append(attrs, slog.Bool("everywhere", true))
			}
			s.instance(slog.LevelError, "instance clock jumped", e.Instance, attrs...)
		},
		Unprotected: func(e quorum.UnprotectedEvent) {
			if e.Eviction != "" {
				s.instance(slog.LevelWarn, "instance may evict locks", e.Instance, slog.String("maxmemory-policy", e.Eviction))
				return
			}
			s.instance(slog.LevelWarn, "instance hides its restarts", e.Instance, slog.Any("hidden", e.Hidden))
		},
		CannotNotify: func(e quorum.CannotNotifyEvent) {
			s.instance(slog.LevelWarn, "instance cannot notify waiters", e.Instance, slog.String("error", quorum.Redact(e.Err.Error())))
		},
	}
}

// sink is where records go.
type sink struct{ logger *slog.Logger }

func (s sink) to() *slog.Logger {
	if s.logger == nil {
		return slog.Default()
	}
	return s.logger
}

// write writes one record. Zero attributes are left out.
func (s sink) write(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	s.to().LogAttrs(ctx, level, text, present(attrs)...)
}

// instance writes a record about an instance.
func (s sink) instance(level slog.Level, text, name string, attrs ...slog.Attr) {
	s.write(context.Background(), level, text, append([]slog.Attr{slog.String("instance", name)}, attrs...)...)
}

func (s sink) lease(ctx context.Context, level slog.Level, text string, e quorum.LeaseEvent) {
	s.write(ctx, level, text, slog.String("key", e.Key), token(e.Token), slog.Duration("validity", e.Validity), slog.Duration("held", e.Held),
		also(e.Also), failure(e.Err))
}

func (s sink) released(ctx context.Context, e quorum.LeaseEvent) {
	level, text := slog.LevelInfo, "lock released"
	switch {
	case errors.Is(e.Err, quorum.ErrHandedOff):
		text, e.Err = "lock handed off", nil
	case e.Left && e.Err == nil:
		text = "lock left to expire"
	case e.Left:
		level, text = slog.LevelWarn, "lock ended before it was left"
	case e.Err != nil:
		level, text = slog.LevelWarn, "lock release failed"
	}
	s.lease(ctx, level, text, e)
}

// waitEnded writes nothing about an Acquire that found the lock free.
func (s sink) waitEnded(ctx context.Context, e quorum.WaitEnd) {
	text := "lock wait ended"
	switch {
	case e.Err != nil:
		text = "lock wait given up"
	case !e.Here && !e.Elsewhere:
		return
	}
	s.write(ctx, slog.LevelInfo, text, slog.String("key", e.Key), token(e.Token), slog.Duration("waited", e.Waited), slog.Int("tries", e.Tries),
		slog.Bool("here", e.Here), slog.Bool("elsewhere", e.Elsewhere), also(e.Also), failure(e.Err))
}

// roundDecided builds nothing for a logger that leaves rounds out, because there are many, with all their votes.
func (s sink) roundDecided(ctx context.Context, e quorum.RoundEnd) {
	if !s.to().Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := "lock round won"
	if e.Err != nil {
		text = "lock round lost"
	}
	attrs := []slog.Attr{slog.String("op", e.Op.String()), slog.String("key", e.Key), slog.Int("try", e.Try), slog.Duration("took", e.Took)}
	if e.Err == nil {
		attrs = append(attrs, token(e.Token), slog.Duration("validity", e.Validity))
	}
	ballots := make([]slog.Attr, len(e.Ballots))
	for i, b := range e.Ballots {
		ballots[i] = slog.GroupAttrs(b.Instance, present(ballotAttrs(b))...)
	}
	s.write(ctx, slog.LevelDebug, text, append(attrs, slog.GroupAttrs("ballots", ballots...), also(e.Also), failure(e.Err))...)
}

// ballotAttrs are one instance's ballot. Vote.Holder, a lock's value, is not among them.
func ballotAttrs(b quorum.Ballot) []slog.Attr {
	if errors.Is(b.Vote.Err, quorum.ErrPending) {
		// Its vote wasn't needed: that is no failure, and no error.
		return []slog.Attr{slog.String("outcome", "pending")}
	}
	var remaining slog.Attr
	switch {
	case b.Vote.Remaining == wire.NoExpiry:
		remaining = slog.String("remaining", "forever")
	case b.Vote.Remaining > 0:
		remaining = slog.Duration("remaining", b.Vote.Remaining)
	}
	return []slog.Attr{slog.String("outcome", b.Vote.Outcome.String()), slog.Duration("latency", b.Latency), remaining, failure(b.Vote.Err)}
}

// present leaves out zero attributes.
func present(attrs []slog.Attr) []slog.Attr {
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Equal(slog.Attr{}) })
}

// also has the other keys of a lease on several.
func also(keys []string) slog.Attr {
	if keys == nil {
		return slog.Attr{}
	}
	return slog.Any("also", keys)
}

func token(t fencing.Token) slog.Attr {
	if t == 0 {
		return slog.Attr{}
	}
	return slog.Uint64("token", uint64(t))
}

// failure is an error whose text has lock values cut short. errors.Is and As still find its parts.
func failure(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	if text := quorum.Redact(err.Error()); text != err.Error() {
		err = &redacted{err, text}
	}
	return slog.Any("error", err)
}

type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
