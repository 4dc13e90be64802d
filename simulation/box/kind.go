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
	NeverFree     Kind = "never free"
	NoProgress    Kind = "no progress"
	NoAnswer      Kind = "no answer"
	LossUntold    Kind = "loss untold"
	UntrueRelease Kind = "untrue release"
	LeftBehind    Kind = "left behind"
	WrongReason   Kind = "wrong reason"
	Slow          Kind = "slow"
)

// kindTexts say what a kind means, and what happens in a play that could have shown it.
type kindTexts struct {
	Kind
	means, could string
}

// kinds are all kinds, the worst first.
var kinds = []kindTexts{
	{
		TwoHolders,
		"A client found its lease valid in a check, or in an extension, that began after another client had got the lock. If each had asked before the other got it, both found theirs valid.",
		"A client asked for the lock, or got it, while another one held it.",
	},
	{
		StaleWrite,
		"The resource executed a write after a later holder had used it.",
		"A client that had held the lock was asked whether it still does, or wrote, after another one had got it.",
	},
	{
		LostUpdate,
		"A write replaced one that its writer had not read.",
		"As for a stale write, and another client had written since it read.",
	},
	{
		TokenOrder,
		"A later lease got a token that isn't larger.",
		"Two leases had tokens.",
	},
	{
		OverOnArrival,
		"A client said that it had got the lock, and that nothing was left of its lease.",
		"A client that got the lock said how much was left of its lease.",
	},
	{
		NeverFree,
		"No progress, and the lock's key has no expiry, so that nobody will ever get it.",
		"As for no progress.",
	},
	{
		NoProgress,
		"Nobody held the lock, a majority of the servers worked, and a client didn't get it within four TTLs and the time for which it says that it distrusts servers.",
		"A client waited for the lock, nobody could renew it, and a majority of the servers worked.",
	},
	{
		NoAnswer,
		"A client gave no answer for twenty seconds longer than it was to wait for the lock.",
		"A client was asked for something.",
	},
	{
		LossUntold,
		"A client that tells of losses did not do so within a second after another client had got the lock.",
		"Another client got the lock of a client that tells of losses.",
	},
	{
		UntrueRelease,
		"A release was called done though a majority of the servers could not be reached.",
		"A client released the lock while it could not reach a majority of the servers.",
	},
	{
		LeftBehind,
		"A try was refused as taken though all holders had released the lock and no fault was there.",
		"A client tried to get the lock when all holders had released it and no fault had been there.",
	},
	{
		WrongReason,
		"A refusal said that the lock is taken though nobody held it and a majority of the servers was down.",
		"A client was refused while nobody held the lock and it could not reach a majority of the servers.",
	},
	{
		Slow,
		"An answer came more than a TTL and two seconds later than it should, though a majority of the servers worked.",
		"A client was asked for something while a majority of the servers worked.",
	},
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
func (k Kind) Means() string { return k.texts().means }

// Could says what happens in a play that could have shown a finding of the kind.
func (k Kind) Could() string { return k.texts().could }

func (k Kind) texts() kindTexts {
	for _, one := range kinds {
		if one.Kind == k {
			return one
		}
	}
	return kindTexts{}
}

// Finding is a broken promise in a play.
type Finding struct {
	Kind Kind `json:"kind"`
	// Seq is the number of the event of the Record that shows it, from 1.
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}
