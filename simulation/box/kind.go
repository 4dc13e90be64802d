package box

// Kind is a promise that broke.
type Kind string

// The kinds of findings. Excluded in guarantees or not: the box says what happened, and each
// client's documentation says what it promises.
const (
	TwoHolders    Kind = "two holders"
	StaleWrite    Kind = "stale write"
	LostUpdate    Kind = "lost update"
	TokenOrder    Kind = "token order"
	OverOnArrival Kind = "over on arrival"
	TooLong       Kind = "too long"
	NeverFree     Kind = "never free"
	NoProgress    Kind = "no progress"
	NoAnswer      Kind = "no answer"
	LossUntold    Kind = "loss untold"
	UntrueRelease Kind = "untrue release"
	LeftBehind    Kind = "left behind"
	WrongReason   Kind = "wrong reason"
	Slow          Kind = "slow"
)

// kinds are all kinds with what they mean, the worst first.
var kinds = []struct {
	Kind
	means string
}{
	{TwoHolders, "A client found its lease valid in a check, or in an extension, that began after another client had got the lock. If both got the lock at the same time, each found its own lease valid after that. Either can be wrong: the first if its lease was over, the second if it was not."},
	{StaleWrite, "The resource executed a write after a later holder had used it. The writer was too late, and hurt that holder; if the play shows two holders, too, the later one may be wrong."},
	{LostUpdate, "A write replaced one that its writer had not read, often that of a stale write."},
	{TokenOrder, "A later lease got a token that isn't larger."},
	{OverOnArrival, "A client said that it had got the lock, and that nothing was left of its lease."},
	{TooLong, "A client said that it had got the lock, and that more was left of its lease than its TTL."},
	{NeverFree, "No progress, and the lock's key has no expiry, so that nobody will ever get it."},
	{NoProgress, "Nobody held the lock, a majority of the servers worked, and a client didn't get it within four TTLs plus the time for which it distrusts servers."},
	{NoAnswer, "A client still hadn't answered twenty seconds after the end of its wait for the lock."},
	{LossUntold, "A client that reports losses did not do so within a second after another client had got the lock."},
	{UntrueRelease, "A client reported a release as done, though a majority of the servers could not be reached."},
	{LeftBehind, "A try was refused as taken, though all holders had released the lock and there was no fault."},
	{WrongReason, "A refusal said that the lock was taken, though nobody held it and a majority of the servers was down."},
	{Slow, "An answer came more than a TTL and two seconds later than it should, though a majority of the servers worked."},
}

// Kinds returns all kinds, the worst first.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds {
		all = append(all, k.Kind)
	}
	return all
}

// Means says what a finding of the kind is.
func (k Kind) Means() string {
	for _, one := range kinds {
		if one.Kind == k {
			return one.means
		}
	}
	return ""
}

// Finding is a broken promise in a play.
type Finding struct {
	Kind Kind `json:"kind"`
	// Seq is the number of the event of the Record that shows it, from 1.
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}
