package httpguard

import (
	"errors"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// New gives a middleware that guards a handler as c says, or an error that
// names the field of c that is wrong.
func New(c Config) (func(http.Handler) http.Handler, error) {
	methods, err := c.validate()
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return &handler{Config: c, methods: methods, next: next}
	}, nil
}

type handler struct {
	Config
	methods map[string]Action // Check for those it lacks; never written after New
	next    http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", HeaderName)
	action := h.methods[r.Method]
	t, err := Header(r.Header)
	if err == nil {
		err = h.show(r, action, t)
	} else if action == AdmitIfSent && errors.Is(err, fencing.ErrNoToken) {
		h.next.ServeHTTP(w, r) // a reader that is no holder
		return
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.next.ServeHTTP(w, r.WithContext(fencing.NewContext(r.Context(), t)))
}

func (h *handler) show(r *http.Request, action Action, t fencing.Token) error {
	if action == Check {
		return h.Guard.Check(r.Context(), h.Resource(r), t)
	}
	return h.Guard.Admit(r.Context(), h.Resource(r), t)
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var (
		stale *fencing.StaleError
		p     Problem
	)
	switch {
	case errors.As(err, &stale):
		p = newProblem(http.StatusConflict, "The token is stale: a later holder has arrived. Stop, and acquire the lock again.")
		p.Token, p.Highest = stale.Token, stale.Highest
	case errors.Is(err, fencing.ErrStale): // a guard that gives no details
		p = newProblem(http.StatusConflict, "The token is stale: a later holder has arrived. Stop, and acquire the lock again.")
	case errors.Is(err, fencing.ErrNoToken):
		p = newProblem(http.StatusPreconditionRequired, "Send the token of the lease in the "+HeaderName+" header.")
	case errors.Is(err, fencing.ErrBadToken):
		p = newProblem(http.StatusBadRequest, "Send one "+HeaderName+" header with a whole number from 1 to "+fencing.MaxToken.String()+".")
	case errors.Is(err, fencing.ErrBadResource):
		p = newProblem(http.StatusBadRequest, "The request does not name a resource that can be guarded.")
	default:
		p = newProblem(http.StatusServiceUnavailable, "The token could not be checked. Nothing was done; try again.")
		if h.OnUnavailable != nil {
			h.OnUnavailable(r, err)
		}
	}
	p.ServeHTTP(w, r)
}
