// Package httpguard protects an HTTP handler with a fencing.Guard, and adds a lease's
// token to a client's requests.
//
// The token travels in the header Fencing-Token, once, in the decimal form of
// fencing.Token.String. New guards a handler; Transport and SetHeader are for the
// client. The guard's responses:
//
//	428 Precondition Required   no token where one is needed
//	400 Bad Request             a malformed token, several of them, one ahead of the clock, or a bad resource name
//	403 Forbidden               Config.Accept says ErrForbidden
//	404 Not Found               Config.Accept says ErrUnknown
//	409 Conflict                a stale token; the body shows it and the largest seen
//	503 Service Unavailable     the guard or Config.Accept failed
//
// each with a body of type application/problem+json (RFC 9457), see Problem.
// Everything else goes to the handler, with the token in the request's context
// (fencing.FromContext).
//
// # Who may show a token
//
// A client can send any token. A guard accepts a token that is not ahead of the clock,
// see fencing.Bound, so a client that may show one can lock out every holder after
// it. So the chain is
//
//	authentication -> router -> httpguard -> handler
//
// and Config.Accept decides, with what the authentication has put into the
// request's context, whether this client may show a token for this resource, and
// whether there is such a resource. Only accepted requests leave marks: neither
// unknown clients nor a scan of missing paths can fill the guard's store. Wrap the
// handlers of single routes, so that a path without a route never reaches the guard.
//
// A fencing.Memory with a Limit refuses new resources when it is full, which is
// answered with 503; known ones are served. Call Forget for resources that are
// deleted for good. To repair a mark that is too
// large, call the guard's Forget, from an operator's tool and never from a request.
//
// # The gap between the check and the write
//
// New's handler checks before the handler behind it runs. Between its check and that
// handler's write a later holder may be admitted, read and write, and the
// handler then overwrites it. The guard alone narrows the window; it does
// not close it. To close it, the handler takes the token from the context and
// lets the check and the write take effect in one step: with Memory.Write of
// package fencing, with package redisguard, or with package sqlguard in the
// transaction that writes:
//
//	tok, _ := fencing.FromContext(r.Context())
//	err := guard.Write(r.Context(), resource, tok, func(tx *sqlguard.WriteTx) error {
//		... write with tx ...
//	})
//
// A connection that is upgraded, to a WebSocket for example, is one request: its token
// is checked once, when it begins. So check the token again with each message that writes.
//
// # Caches, proxies and redirects
//
// A cache that responds to a read has not shown the token to the guard. So every
// response has "Vary: Fencing-Token", unless the handler sets Vary
// itself rather than adding to it. That makes a shared cache ask the server at least once
// for each token. If all reads must arrive, have the handler respond with "Cache-Control: no-store".
//
// A proxy removes every header that the request's Connection header names (RFC
// 9110, section 7.6.1), so a request with "Connection: Fencing-Token" arrives
// without its token. Other proxies pass only known headers. A write is then refused
// with 428, but a read passes without a token, and the holder does not notice. If all
// readers are holders, Config.RequireToken makes that an error. Otherwise the handler
// can report in its response whether a token arrived (fencing.FromContext).
//
// Middleware that changes a request's method (X-HTTP-Method-Override) must stand
// in front of this one, or a write passes as a read.
package httpguard
