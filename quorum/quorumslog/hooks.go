package quorumslog

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Hooks writes every event to logger, at the default levels. Nil stands for
// slog.Default(), looked up at each event, so that a later slog.SetDefault counts.
//
// Durations are slog durations, tokens unsigned integers; a token of 0 (fencing
// is off) is left out. The context of an event reaches the handler.
func Hooks(logger *slog.Logger) quorum.Hooks { return DefaultLevels().Hooks(logger) }

// Hooks is the function Hooks, with other levels.
func (l Levels) Hooks(logger *slog.Logger) quorum.Hooks {
	out := sink{logger: logger}
	background := context.Background()
	return quorum.Hooks{
		RoundStarted: func(ctx context.Context, e quorum.RoundStart) {
			out.write(ctx, l.Round, "lock round started", func() []slog.Attr {
				return appendAlso([]slog.Attr{slog.String("op", e.Op.String()), slog.String("key", e.Key), slog.Int("try", e.Try)}, e.Also)
			})
		},
		RoundDecided: func(ctx context.Context, e quorum.RoundEnd) {
			text := "lock round won"
			if e.Err != nil {
				text = "lock round lost"
			}
			out.write(ctx, l.Round, text, func() []slog.Attr { return roundAttrs(e) })
		},
		WaitStarted: func(ctx context.Context, e quorum.WaitStart) {
			out.write(ctx, l.WaitStarted, "lock wait started", func() []slog.Attr {
				return appendAlso([]slog.Attr{slog.String("key", e.Key), slog.Int("waiters", e.Waiters)}, e.Also)
			})
		},
		WaitEnded: func(ctx context.Context, e quorum.WaitEnd) {
			switch {
			case e.Err != nil:
				out.write(ctx, l.GaveUp, "lock wait given up", func() []slog.Attr { return waitAttrs(e) })
			case e.Here || e.Elsewhere:
				out.write(ctx, l.Waited, "lock wait ended", func() []slog.Attr { return waitAttrs(e) })
			}
		},
		Acquired: func(ctx context.Context, e quorum.LeaseEvent) {
			out.write(ctx, l.Acquired, "lock acquired", func() []slog.Attr { return leaseAttrs(e) })
		},
		Extended: func(ctx context.Context, e quorum.LeaseEvent) {
			out.write(ctx, l.Extended, "lock extended", func() []slog.Attr { return leaseAttrs(e) })
		},
		Released: func(ctx context.Context, e quorum.LeaseEvent) {
			level, text := l.Released, "lock released"
			switch {
			case errors.Is(e.Err, quorum.ErrHandedOff):
				text, e.Err = "lock handed off", nil
			case e.Left && e.Err == nil:
				text = "lock left to expire"
			case e.Left:
				level, text = l.ReleaseFailed, "lock ended before it was left"
			case e.Err != nil:
				level, text = l.ReleaseFailed, "lock release failed"
			}
			out.write(ctx, level, text, func() []slog.Attr { return leaseAttrs(e) })
		},
		Lost: func(e quorum.LeaseEvent) {
			out.write(background, l.Lost, "lock lost", func() []slog.Attr { return leaseAttrs(e) })
		},
		Waiting: func(ctx context.Context, e quorum.WaitEvent) {
			out.write(ctx, l.Waiting, e.String(), func() []slog.Attr {
				attrs := []slog.Attr{slog.String("key", e.Key)}
				if e.Last != nil {
					return append(attrs, slog.Duration("lasted", e.Lasted))
				}
				return append(attrs, slog.Duration("for", e.For))
			})
		},
		Quarantined: func(e quorum.QuarantineEvent) {
			out.write(background, l.Quarantined, "instance quarantined", func() []slog.Attr { return quarantineAttrs(e) })
		},
		ClockJumped: func(e quorum.ClockEvent) {
			out.write(background, l.ClockJumped, "instance clock jumped", func() []slog.Attr {
				attrs := clockAttrs(e.Instance, e.Jump)
				if e.Everywhere {
					attrs = append(attrs, slog.Bool("everywhere", true))
				}
				return attrs
			})
		},
		Unprotected: func(e quorum.UnprotectedEvent) {
			if e.Eviction != "" {
				out.write(background, l.Unprotected, "instance may evict locks", func() []slog.Attr {
					return []slog.Attr{slog.String("instance", e.Instance), slog.String("maxmemory-policy", e.Eviction)}
				})
				return
			}
			out.write(background, l.Unprotected, "instance hides its restarts", func() []slog.Attr {
				return []slog.Attr{slog.String("instance", e.Instance), slog.Any("hidden", e.Hidden)}
			})
		},
		CannotNotify: func(e quorum.CannotNotifyEvent) {
			out.write(background, l.CannotNotify, "instance cannot notify waiters", func() []slog.Attr {
				return []slog.Attr{slog.String("instance", e.Instance), slog.String("error", redact(e.Err).Error())}
			})
		},
	}
}

// sink is where records go.
type sink struct{ logger *slog.Logger }

// write writes one record. The attributes are made only if it will be kept.
func (s sink) write(ctx context.Context, level slog.Level, text string, attrs func() []slog.Attr) {
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	if logger.Enabled(ctx, level) {
		logger.LogAttrs(ctx, level, text, attrs()...)
	}
}

func roundAttrs(e quorum.RoundEnd) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("op", e.Op.String()),
		slog.String("key", e.Key),
		slog.Int("try", e.Try),
		slog.Duration("took", e.Took),
	}
	if e.Err == nil {
		attrs = appendToken(attrs, e.Token)
		attrs = append(attrs, slog.Duration("validity", e.Validity))
	}
	ballots := make([]slog.Attr, len(e.Ballots))
	for i, b := range e.Ballots {
		ballots[i] = ballotAttr(b)
	}
	attrs = append(attrs, slog.GroupAttrs("ballots", ballots...))
	return appendError(appendAlso(attrs, e.Also), e.Err)
}

// ballotAttr is one instance's ballot, under its name. Vote.Holder, a lock's value, is not in it.
func ballotAttr(b quorum.Ballot) slog.Attr {
	if errors.Is(b.Vote.Err, quorum.ErrPending) {
		// Its vote wasn't needed: that is no failure, and no error.
		return slog.GroupAttrs(b.Instance, slog.String("outcome", "pending"))
	}
	attrs := []slog.Attr{slog.String("outcome", b.Vote.Outcome.String()), slog.Duration("latency", b.Latency)}
	switch {
	case b.Vote.Remaining == wire.NoExpiry:
		attrs = append(attrs, slog.String("remaining", "forever"))
	case b.Vote.Remaining > 0:
		attrs = append(attrs, slog.Duration("remaining", b.Vote.Remaining))
	}
	return slog.GroupAttrs(b.Instance, appendError(attrs, b.Vote.Err)...)
}

func waitAttrs(e quorum.WaitEnd) []slog.Attr {
	attrs := appendToken([]slog.Attr{slog.String("key", e.Key)}, e.Token)
	attrs = append(attrs, slog.Duration("waited", e.Waited), slog.Int("tries", e.Tries),
		slog.Bool("here", e.Here), slog.Bool("elsewhere", e.Elsewhere))
	return appendError(appendAlso(attrs, e.Also), e.Err)
}

func leaseAttrs(e quorum.LeaseEvent) []slog.Attr {
	attrs := appendToken([]slog.Attr{slog.String("key", e.Key)}, e.Token)
	attrs = append(attrs, slog.Duration("validity", e.Validity), slog.Duration("held", e.Held))
	return appendError(appendAlso(attrs, e.Also), e.Err)
}

// appendAlso appends the other keys of a lease on several.
func appendAlso(attrs []slog.Attr, also []string) []slog.Attr {
	if also == nil {
		return attrs
	}
	return append(attrs, slog.Any("also", also))
}

func quarantineAttrs(e quorum.QuarantineEvent) []slog.Attr {
	attrs := []slog.Attr{slog.String("instance", e.Instance)}
	if e.Err == nil {
		return attrs
	}
	return append(attrs,
		slog.String("reason", e.Err.Reason.String()),
		slog.String("detail", e.Err.Detail),
		slog.Duration("remaining", e.Err.Remaining),
		slog.Time("until", e.Err.Until),
	)
}

func clockAttrs(instance string, jump drift.Jump) []slog.Attr {
	return []slog.Attr{slog.String("instance", instance), slog.Duration("by", jump.By), slog.Duration("within", jump.Within)}
}

func appendToken(attrs []slog.Attr, token fencing.Token) []slog.Attr {
	if token == 0 {
		return attrs
	}
	return append(attrs, slog.Uint64("token", uint64(token)))
}

func appendError(attrs []slog.Attr, err error) []slog.Attr {
	if err == nil {
		return attrs
	}
	return append(attrs, slog.Any("error", redact(err)))
}
