package fencing

import "context"

type contextKey struct{}

// NewContext returns a context that carries t, for code that cannot take the token
// as an argument. The context does not end with the lease unless ctx does: derive
// it from the lease's own context for that.
func NewContext(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext returns the token of the innermost NewContext. The contexts of leases
// (quorum.Coordinator.Do, quorum.Lease.Context and Within) carry theirs. Without a
// token, or with the zero Token, it returns the zero Token, which every Guard
// refuses, and false.
//
// Work under two leases has the token of the inner one. The inner token means nothing to a guard
// of what the outer lease protects: pass the outer lease's Token there.
func FromContext(ctx context.Context) (Token, bool) {
	t, _ := ctx.Value(contextKey{}).(Token)
	return t, t != 0
}
