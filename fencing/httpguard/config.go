package httpguard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/redquorum/redlock/fencing"
)

// Action is what the middleware does with the requests of a method.
type Action int

const (
	// Check needs a token and checks it as for a write. It is the zero Action, so
	// that a method which nobody thought of is guarded.
	Check Action = iota
	// Admit needs a token and shows it to the guard as a holder's that arrives.
	Admit
	// AdmitIfSent shows the token when the request has one, and lets the request
	// pass without: for reads, which others than holders make too. A malformed or
	// stale token is refused all the same.
	AdmitIfSent
)

// String returns the name of the constant.
func (a Action) String() string {
	switch a {
	case Check:
		return "Check"
	case Admit:
		return "Admit"
	case AdmitIfSent:
		return "AdmitIfSent"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// Config says how the middleware guards a handler.
type Config struct {
	// Guard keeps the marks. Required.
	Guard fencing.Guard

	// Resource names the resource that a request is about; requests for the same
	// thing must get the same name, by whatever path they come. Required. An empty name
	// is answered with 400, as is any other that fencing.Validate refuses; it
	// never means that the request is not guarded.
	Resource func(*http.Request) string

	// Accept decides whether a request may show its token for a resource. It is
	// asked before the guard, about every request that has a token and a possible
	// resource name. Only a request that it accepts, by giving nil, leaves a mark.
	// Required: a guard believes every token that it is shown, within its Bound.
	//
	// Accept answers two questions. Who is the client, and may it hold leases on
	// this resource? If not, it gives an error that wraps ErrForbidden. Is it a
	// resource that the handler has, or would create under this name? If not, it
	// gives one that wraps ErrUnknown. A name under which a holder may create
	// something has to be accepted, because a holder that reads "there is none"
	// has read. Any other error is answered with 503, and OnUnavailable is told.
	//
	// If both questions are settled in front of this handler, pass AcceptAny.
	Accept func(r *http.Request, resource string, t fencing.Token) error

	// Methods says what to do for a method, in upper case as HTTP has them. It
	// adds to the default, which is AdmitIfSent for GET, HEAD and OPTIONS and
	// Check for every other: {"GET": Admit} demands a token of readers also,
	// {"GET": Check} is for a handler that writes on GET.
	Methods map[string]Action

	// RequireToken demands a token of every request: GET, HEAD and OPTIONS are
	// Admit then, and AdmitIfSent is refused in Methods. Set it where only holders
	// have business, and where a proxy could drop the header: without the token
	// a holder's read passes as nobody's, and nothing is shown.
	RequireToken bool

	// OnUnavailable, if set, is told why a request is answered with 503, and of
	// tokens ahead of the clock (fencing.ErrAhead), which can mean that this
	// machine's clock is wrong. The client is not told, for the error may show
	// the inside of the server. It runs in the request's goroutine.
	OnUnavailable func(*http.Request, error)
}

var (
	// ErrUnknown, wrapped by what Config.Accept gives, is answered with 404: the
	// handler has no such resource and would not create it.
	ErrUnknown = errors.New("httpguard: unknown resource")

	// ErrForbidden, wrapped by what Config.Accept gives, is answered with 403: the
	// client may not show a token for the resource.
	ErrForbidden = errors.New("httpguard: the client may not show a token for the resource")
)

// AcceptAny is a Config.Accept that accepts every request. It is right only where
// no request reaches the guard that is not authenticated, may not hold a lease on
// its resource, or is for a resource that does not exist.
func AcceptAny(*http.Request, string, fencing.Token) error { return nil }

// validate returns the action of each method that has one other than Check.
func (c Config) validate() (map[string]Action, error) {
	if isNil(c.Guard) {
		return nil, fmt.Errorf("httpguard: Config.Guard is nil; pass the guard that keeps the marks")
	}
	// Every Guard refuses this before it asks its store, or it was not made by its
	// package's New.
	if err := c.Guard.Check(context.Background(), "", 0); !errors.Is(err, fencing.ErrBadResource) && !errors.Is(err, fencing.ErrNoToken) {
		return nil, fmt.Errorf("httpguard: Config.Guard cannot be used: shown no token, it answers %w", notRefused(err))
	}
	if c.Resource == nil {
		return nil, fmt.Errorf("httpguard: Config.Resource is nil; pass a function that names a request's resource")
	}
	if c.Accept == nil {
		return nil, fmt.Errorf("httpguard: Config.Accept is nil; pass a function that decides who may show a token for which resource, or AcceptAny if that is decided before")
	}
	reads := AdmitIfSent
	if c.RequireToken {
		//guard:http-readers-need-tokens  with RequireToken readers need a token, too
		reads = Admit
	}
	methods := map[string]Action{http.MethodGet: reads, http.MethodHead: reads, http.MethodOptions: reads}
	for method, a := range c.Methods {
		if method == "" {
			return nil, fmt.Errorf("httpguard: Config.Methods has an empty method; name one, as \"GET\"")
		}
		for _, b := range []byte(method) {
			if b >= 'a' && b <= 'z' {
				return nil, fmt.Errorf("httpguard: Config.Methods[%q] is in lower case and would match no request; methods are case-sensitive", method)
			}
		}
		if a < Check || a > AdmitIfSent {
			return nil, fmt.Errorf("httpguard: Config.Methods[%q] is %v, want Check, Admit or AdmitIfSent", method, a)
		}
		if a == AdmitIfSent && c.RequireToken {
			return nil, fmt.Errorf("httpguard: Config.Methods[%q] is AdmitIfSent, but Config.RequireToken demands a token; want Check or Admit", method)
		}
		methods[method] = a
	}
	return methods, nil
}

func notRefused(err error) error {
	if err == nil {
		return errors.New("nothing, where fencing.ErrNoToken is wanted")
	}
	return err
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
