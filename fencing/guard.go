package fencing

import "context"

// Guard protects resources and keeps a mark for each: the largest token that it
// has seen. The package documentation numbers its guarantees, and package
// guardtest tests them. Implementations are safe for concurrent use.
//
// Admit and Check refuse
//   - a token smaller than the mark, with a *StaleError (errors.Is ErrStale);
//   - the zero Token with ErrNoToken, one above MaxToken with ErrBadToken, a bad
//     resource name with ErrBadResource, and a token above the guard's Bound
//     with an *AheadError (errors.Is ErrAhead), as Bound.Check does;
//   - a context that has ended, with its error.
//
// A refused call changes nothing. Any other error comes from the store that
// keeps the marks: the caller must not continue, and may call again.
type Guard interface {
	// Admit shows the token of a new holder before the holder reads anything. It
	// raises the mark to t; an equal token passes.
	Admit(ctx context.Context, resource string, t Token) error

	// Check is for a write. It raises the mark to t if t is larger; an equal token
	// passes. The write is safe only if it takes effect in one step with the check,
	// see the package documentation.
	Check(ctx context.Context, resource string, t Token) error

	// Forget drops the mark of a resource and reports whether there was one. An
	// operator calls it to repair a mark that is too large, or to free the mark of
	// a resource that is gone for good. Never call it from a request.
	//
	// Forgetting is dangerous. The next token passes however small it is, so a
	// paused holder of an old lease can write again. It is safe
	//   - if the resource is gone and its name will not be used again;
	//   - if every process that held an older lease has ended. The expiry of the
	//     lease is not enough, because a pause has no upper bound.
	//
	// Call Admit with the current holder's token right after Forget: that locks out
	// older holders again. Forget returns ErrBadResource for a bad name and the
	// context's error for an ended context; then nothing is changed.
	Forget(ctx context.Context, resource string) (bool, error)
}
