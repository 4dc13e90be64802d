package fencing

import "context"

// Guard stands in front of resources and keeps a mark for each: the largest
// token that it has seen. The package documentation numbers what it guarantees;
// package guardtest tests it. Implementations are safe for concurrent use.
//
// Both methods refuse
//   - a token smaller than the mark, with a *StaleError (errors.Is ErrStale);
//   - the zero Token with ErrNoToken, one above MaxToken with ErrBadToken, and a
//     bad resource name with ErrBadResource, as Validate does;
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
}
