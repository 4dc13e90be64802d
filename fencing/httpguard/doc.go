// Package httpguard puts a fencing.Guard in front of an HTTP handler, and the
// token of a lease into the requests of a client.
//
// The token travels in the header Fencing-Token, once, in the decimal form of
// fencing.Token.String. New gives the middleware; Transport and SetHeader are
// for the client. The answers of the middleware:
//
//	428 Precondition Required   no token where one is needed
//	400 Bad Request             a malformed token, several of them, or a bad resource name
//	409 Conflict                a stale token; the body shows it and the largest seen
//	503 Service Unavailable     the guard could not answer
//
// each with a body of type application/problem+json (RFC 9457), see Problem.
// Everything else goes to the handler, with the token in the request's context
// (fencing.FromContext).
//
// # The gap between the check and the write
//
// The middleware checks before the handler runs. Between its check and the
// handler's write a later holder may be admitted, read and write, and the
// handler then overwrites it. The middleware alone narrows the window; it does
// not close it. To close it, the handler takes the token from the context and
// lets the check and the write take effect in one step: with Memory.Write of
// package fencing, with package redisguard, or with package sqlguard in the
// transaction that writes:
//
//	tok, _ := fencing.FromContext(r.Context())
//	tx, err := db.BeginTx(r.Context(), nil)
//	...
//	if err := guard.CheckTx(r.Context(), tx, resource, tok); err != nil { ... }
//	... write in tx, commit
//
// # Caches and redirects
//
// A cache that answers a read on behalf of the server has not shown the token to
// the guard. So the middleware adds "Vary: Fencing-Token" to every answer, which makes a
// shared cache ask the server at least once for each token; where reads must
// always arrive, have the handler answer with "Cache-Control: no-store".
//
// Middleware that changes a request's method (X-HTTP-Method-Override) must stand
// in front of this one, or a write passes as a read.
package httpguard
