package fencing

import "context"

type contextKey struct{}

// NewContext gives a context that carries t, for code that cannot be handed the
// token as an argument. It does not tie the context to the lease: derive it from
// the lease's own context for that.
func NewContext(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext gives the token that NewContext put in, the innermost one if there
// are several. Without one it gives the zero Token, which every Guard refuses,
// and false; so it does when the zero Token was put in.
func FromContext(ctx context.Context) (Token, bool) {
	t, _ := ctx.Value(contextKey{}).(Token)
	return t, t != 0
}
