package fencing

import "context"

// Guard stands in front of resources and keeps a mark for each: the largest
// token that it has seen. The package documentation numbers what it guarantees;
// package guardtest tests it. Implementations are safe for concurrent use.
//
// Admit and Check refuse
//   - a token smaller than the mark, with a *StaleError (errors.Is ErrStale);
//   - the zero Token with ErrNoToken, one above MaxToken with ErrBadToken, a bad
//     resource name with ErrBadResource, and a token above the guard's Bound
//     with an *AheadError (errors.Is ErrAhead), as Bound.Check does;
//   - a context that has ended, with its error.
//
// A refused call changes nothing. Any other error comes from the store that
// keeps the marks: the caller must not go on, and may call again.
type Guard interface {
	// Admit shows the token of a holder that arrives, before it reads anything.
	// It raises the mark to t; an equal token passes.
	Admit(ctx context.Context, resource string, t Token) error

	// Check is for a write. It raises the mark to t if that is larger; an equal
	// token passes. The write is safe only if it takes effect in one step with
	// the check, see the package documentation.
	Check(ctx context.Context, resource string, t Token) error

	// Forget drops the mark of a resource and reports whether there was one. It
	// is the operator's repair for a mark that is too large, and frees the mark
	// of a resource that is gone for good. Never call it from a request.
	//
	// Forgetting is dangerous. The next token passes however small it is, so a
	// paused holder of an old lease can write again. It is safe
	//   - if the resource is gone and its name will not be used again;
	//   - if every process that held an older lease has ended. The expiry of the
	//     lease is not enough, because a pause has no upper bound.
	//
	// Call Admit with the present holder's token right after Forget: that shuts
	// out older holders again. A bad name is refused with ErrBadResource and an
	// ended context with its error; then nothing is changed.
	Forget(ctx context.Context, resource string) (bool, error)
}
