package httpguard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/redquorum/redlock/fencing"
)

// Config configures the middleware.
type Config struct {
	// Guard keeps the marks. Required.
	Guard fencing.Guard

	// Resource names the resource of a request. Requests for the same resource must
	// get the same name, by any path. Required. The response to an empty name is 400,
	// as to any other name that fencing.Validate refuses; it never means that the
	// request is not guarded.
	Resource func(*http.Request) string

	// Accept decides whether a request may show its token for a resource. It is called
	// before the guard, for every request with a token and a valid resource name. Only
	// a request for which it returns nil leaves a mark. Required: a guard accepts every
	// token within its Bound.
	//
	// Accept answers two questions. Who is the client, and may it hold leases on
	// this resource? If not, it returns an error that wraps ErrForbidden. Is it a
	// resource that the handler has, or would create under this name? If not, it
	// returns one that wraps ErrUnknown. A name under which a holder may create
	// something has to be accepted, because a holder that reads "there is none"
	// has read. After any other error the response is 503, and OnUnavailable is called.
	//
	// If both questions are settled in front of this handler, pass AcceptAny.
	Accept func(r *http.Request, resource string, t fencing.Token) error

	// RequireToken demands a token of every request. Otherwise GET, HEAD and OPTIONS may
	// come without one, for reads that not only holders make. Set it if only holders send
	// requests and a proxy could drop the header: without it, a holder's read passes
	// although no token was shown. Set it also for a handler that writes on GET.
	RequireToken bool

	// OnUnavailable, if set, is called with the reason of a response 503, and for
	// tokens ahead of the clock (fencing.ErrAhead), which can mean that this
	// machine's clock is wrong. The client does not get the error, because it may
	// show internals of the server. It runs in the request's goroutine.
	OnUnavailable func(*http.Request, error)
}

var (
	// ErrUnknown, wrapped by an error of Config.Accept, causes a response 404: the
	// handler has no such resource and would not create it.
	ErrUnknown = errors.New("httpguard: unknown resource")

	// ErrForbidden, wrapped by an error of Config.Accept, causes a response 403: the
	// client may not show a token for the resource.
	ErrForbidden = errors.New("httpguard: the client may not show a token for the resource")
)

// AcceptAny is a Config.Accept that accepts every request. It is right only where
// no request reaches the guard that is not authenticated, may not hold a lease on
// its resource, or is for a resource that does not exist.
func AcceptAny(*http.Request, string, fencing.Token) error { return nil }

func (c Config) validate() error {
	if isNil(c.Guard) {
		return fmt.Errorf("httpguard: Config.Guard is nil; pass the guard that keeps the marks")
	}
	// Every Guard that was created by its package's New refuses this before it contacts
	// its store.
	if err := c.Guard.Check(context.Background(), "", 0); err == nil {
		return fmt.Errorf("httpguard: Config.Guard cannot be used: it lets no token pass, where fencing.ErrNoToken is wanted")
	} else if !errors.Is(err, fencing.ErrBadResource) && !errors.Is(err, fencing.ErrNoToken) {
		return fmt.Errorf("httpguard: Config.Guard cannot be used: shown no token, it answers %w", err)
	}
	if c.Resource == nil {
		return fmt.Errorf("httpguard: Config.Resource is nil; pass a function that names a request's resource")
	}
	if c.Accept == nil {
		return fmt.Errorf("httpguard: Config.Accept is nil; pass a function that decides who may show a token for which resource, or AcceptAny if that is decided before")
	}
	return nil
}

// isNil reports whether v is nil, or an interface around a nil pointer, function
// or the like, whose methods would panic with each request.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return r.IsNil()
	}
	return false
}
