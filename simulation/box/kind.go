package box

// Kind is a promise that broke.
type Kind string

// The kinds of findings. Excluded in guarantees or not: the box says what happened, and each
// client's documentation says what it promises.
const (
	// TwoHolders: a client found its lease valid in a check that began after another client had
	// got the lock. If each had asked before the other got it, both found theirs valid.
	TwoHolders Kind = "two holders"
	// StaleWrite: the resource executed a write after a later holder had used it.
	StaleWrite Kind = "stale write"
	// LostUpdate: a write replaced one that its writer had not read.
	LostUpdate Kind = "lost update"
	// TokenOrder: a later lease got a token that isn't larger.
	TokenOrder Kind = "token order"
	// OverOnArrival: a client said that it had got the lock, and that nothing was left of its
	// lease.
	OverOnArrival Kind = "over on arrival"
	// NoProgress: nobody held the lock, a majority of the servers worked, and a client didn't
	// get it within four TTLs.
	NoProgress Kind = "no progress"
	// NeverFree: the same, and the lock's key has no expiry, so that nobody will ever get it.
	NeverFree Kind = "never free"
	// Slow: an answer came more than a TTL and two seconds later than it should, though a
	// majority of the servers worked.
	Slow Kind = "slow"
	// NoAnswer: a client gave no answer for twenty seconds longer than it was to wait for the lock.
	NoAnswer Kind = "no answer"
	// LeftBehind: a try was refused as taken though all holders had released the lock and no
	// fault was there.
	LeftBehind Kind = "left behind"
	// WrongReason: a refusal said that the lock is taken though nobody held it and a majority
	// of the servers was down.
	WrongReason Kind = "wrong reason"
	// UntrueRelease: a release was called done though a majority of the servers could not be
	// reached.
	UntrueRelease Kind = "untrue release"
	// LossUntold: a client that tells of losses did not do so within a second after another
	// client had got the lock.
	LossUntold Kind = "loss untold"
)

// Kinds returns all kinds, the worst first.
func Kinds() []Kind {
	return []Kind{TwoHolders, StaleWrite, LostUpdate, TokenOrder, OverOnArrival, NeverFree, NoProgress, NoAnswer, LossUntold, UntrueRelease, LeftBehind, WrongReason, Slow}
}

// Finding is a broken promise in a play.
type Finding struct {
	Kind Kind `json:"kind"`
	// Seq is the number of the event of the Record that shows it, from 1.
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}
