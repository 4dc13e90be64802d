package simulation

// Guarding is what stands before the resource.
type Guarding string

// The guards.
const (
	// Unguarded: whatever arrives is carried out.
	Unguarded Guarding = ""
	// GuardWrites refuses writes under a token below the largest one that a write
	// has come with. Reads pass, and teach it nothing.
	GuardWrites Guarding = "writes"
	// GuardAdmits is GuardWrites, and admits the token of each read too: from the
	// first read of a holder on no earlier one can write.
	GuardAdmits Guarding = "admits"
	// GuardIdempotent is GuardAdmits before a resource that knows the writes of
	// each lease by their numbers: one that comes again is answered as before and
	// isn't carried out, and one that comes after a later one of its own lease is
	// refused. A Write of the same value and version as the one before it, under
	// the same lease, is that one again.
	GuardIdempotent Guarding = "idempotent"
	// GuardRepeats knows writes as GuardIdempotent does, and looks at no token.
	GuardRepeats Guarding = "repeats"
)

// Tokens reports whether the guard looks at tokens.
func (g Guarding) Tokens() bool { return g != Unguarded && g != GuardRepeats }

// numbers reports whether the resource knows writes by their numbers.
func (g Guarding) numbers() bool { return g == GuardIdempotent || g == GuardRepeats }
