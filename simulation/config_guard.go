package simulation

// Guarding is the kind of guard of the resource.
type Guarding string

// The guards.
const (
	// Unguarded: every request is executed.
	Unguarded Guarding = ""
	// GuardWrites refuses a write whose token is below the largest token of an earlier
	// write. Reads pass and don't raise the mark.
	GuardWrites Guarding = "writes"
	// GuardAdmits is GuardWrites, and reads raise the mark too: after the first read of
	// a holder, no earlier holder can write.
	GuardAdmits Guarding = "admits"
	// GuardIdempotent is GuardAdmits on a resource that numbers the writes of each
	// lease. A repeated write gets the earlier reply and isn't executed again. A write
	// that arrives after a later write of its own lease is refused. A Write of the same
	// value and version as the previous one under the same lease is a repetition.
	GuardIdempotent Guarding = "idempotent"
	// GuardRepeats numbers writes as GuardIdempotent does, and ignores tokens.
	GuardRepeats Guarding = "repeats"
)

// Tokens reports whether the guard checks tokens.
func (g Guarding) Tokens() bool { return g != Unguarded && g != GuardRepeats }

// numbers reports whether the resource numbers writes.
func (g Guarding) numbers() bool { return g == GuardIdempotent || g == GuardRepeats }
