// Package quorumslog writes what a Coordinator does to a log/slog Logger: one
// structured record for each event.
//
//	cfg.Hooks = quorumslog.Hooks(logger)
//
// Lock values are never written, because whoever knows one can release the lock;
// where a server's error repeats one (an unknown command is answered with its
// arguments), it is cut short.
package quorumslog

import "log/slog"

// Levels says at which level each kind of event is written. To leave one out
// altogether, and save its cost, set its hook to nil in what Hooks gives.
type Levels struct {
	// Round is a round that begins, is won or is lost. Default debug: a lock
	// that is fought over takes many.
	Round slog.Level
	// WaitStarted is a goroutine that entered the wait queue, also for a lock that
	// is free. Default debug.
	WaitStarted slog.Level
	// Waited is a wait that ended with the lock, if another goroutine or another
	// client had it. Default info. An Acquire that found the lock free writes nothing.
	Waited slog.Level
	// GaveUp is a wait that ended without the lock. Default info: the caller has the
	// error.
	GaveUp slog.Level
	// Acquired is a lease that was handed out. Default info.
	Acquired slog.Level
	// Extended is a lease that has a new deadline. Default debug.
	Extended slog.Level
	// Released is a lease that was given back while it was held, handed off, or left to expire
	// (Lease.Leave). Default info.
	Released slog.Level
	// ReleaseFailed is a lease that turned out not to be held any more when it was
	// released or left, or of which too few instances could tell. Default warn.
	ReleaseFailed slog.Level
	// Lost is a lease that ended without a release: its holder may have worked
	// without the lock. Default warn.
	Lost slog.Level
	// Waiting is a time in which no lock can be taken, because too few instances may vote or
	// answer. Default warn.
	Waiting slog.Level
	// Quarantined is an instance that may not vote for a while. Default warn.
	Quarantined slog.Level
	// ClockJumped is an instance whose clock was stepped. Default error: locks
	// rest on these clocks, and somebody has to see to its time service.
	ClockJumped slog.Level
	// Unprotected is an instance whose restarts will not be noticed, or that may evict
	// locks. Default warn.
	Unprotected slog.Level
	// CannotNotify is an instance whose waiters have to poll. Default warn.
	CannotNotify slog.Level
}

// DefaultLevels are the levels that Hooks uses.
func DefaultLevels() Levels {
	return Levels{
		Round:         slog.LevelDebug,
		WaitStarted:   slog.LevelDebug,
		Waited:        slog.LevelInfo,
		GaveUp:        slog.LevelInfo,
		Acquired:      slog.LevelInfo,
		Extended:      slog.LevelDebug,
		Released:      slog.LevelInfo,
		ReleaseFailed: slog.LevelWarn,
		Lost:          slog.LevelWarn,
		Waiting:       slog.LevelWarn,
		Quarantined:   slog.LevelWarn,
		ClockJumped:   slog.LevelError,
		Unprotected:   slog.LevelWarn,
		CannotNotify:  slog.LevelWarn,
	}
}
