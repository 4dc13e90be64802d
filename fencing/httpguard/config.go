package httpguard

import (
	"fmt"
	"net/http"

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

// String gives the name of the constant.
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

	// Methods says what to do for a method, in upper case as HTTP has them. It
	// adds to the default, which is AdmitIfSent for GET, HEAD and OPTIONS and
	// Check for every other: {"GET": Admit} demands a token of readers also,
	// {"GET": Check} is for a handler that writes on GET.
	Methods map[string]Action

	// OnUnavailable, if set, is told why a request is answered with 503. The
	// client is not told, for the error may show the inside of the server. It
	// runs in the request's goroutine.
	OnUnavailable func(*http.Request, error)
}

// validate gives the action of each method that has one other than Check.
func (c Config) validate() (map[string]Action, error) {
	if c.Guard == nil {
		return nil, fmt.Errorf("httpguard: Config.Guard is nil; pass the guard that keeps the marks")
	}
	if c.Resource == nil {
		return nil, fmt.Errorf("httpguard: Config.Resource is nil; pass a function that names a request's resource")
	}
	methods := map[string]Action{
		http.MethodGet: AdmitIfSent, http.MethodHead: AdmitIfSent, http.MethodOptions: AdmitIfSent,
	}
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
		methods[method] = a
	}
	return methods, nil
}
