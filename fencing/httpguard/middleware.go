package httpguard

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// New returns a handler with a guard in front of next. The error names the invalid field of
// c, or says that next is nil.
func New(c Config, next http.Handler) (http.Handler, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if isNil(next) {
		return nil, fmt.Errorf("httpguard: the handler behind the guard is nil; pass the one that serves the resource")
	}
	return &handler{c, next}, nil
}

type handler struct {
	Config
	next http.Handler
}

// ServeHTTP calls Accept, then the guard, then the handler. The order matters:
//
//   - Accept comes before the guard, so that a refused request, or one for a missing
//     resource, leaves no mark.
//   - The guard comes before the handler, so that a stale write is refused before
//     it happens, and a holder's token is shown before the handler reads for it.
//
// The guard cannot learn from the handler's response whether the resource exists, by
// raising the mark after a 200 or lowering it after a 404, because then the handler has
// already read. If the mark rises after the read: B (token 34) reads 100, A (33) passes
// its check and writes 110, B's mark is raised, and B writes 101: A's write is lost,
// although both showed their tokens. If the mark is lowered after a 404: B (34) reads
// "there is none", A (33), paused since it read the same, passes its check and creates the
// resource, and B overwrites it.
//
// So Accept has to know before the handler reads. It may look the resource up itself,
// because no holder uses its result: a resource that is deleted just after leaves an
// unnecessary mark, and one that is created just after causes a 404 to a reader that has
// shown no token. That reader must not create the resource because of it. This is why
// Accept accepts names that may be created.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", HeaderName)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	t, err := Header(r.Header)
	if err == nil {
		err = h.show(r, reads, t)
	} else if reads && !h.RequireToken && errors.Is(err, fencing.ErrNoToken) {
		// A reader that is no holder. The server's own lease may be in the context of all its requests.
		h.next.ServeHTTP(w, r.WithContext(fencing.NewContext(r.Context(), 0)))
		return
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.next.ServeHTTP(w, r.WithContext(fencing.NewContext(r.Context(), t)))
}

func (h *handler) show(r *http.Request, reads bool, t fencing.Token) error {
	resource := h.Resource(r)
	if err := fencing.Validate(resource, t); err != nil {
		return err
	}
	if err := h.Accept(r, resource, t); err != nil {
		return &notAccepted{err}
	}
	if reads {
		return h.Guard.Admit(r.Context(), resource, t)
	}
	return h.Guard.Check(r.Context(), resource, t)
}

// notAccepted is an error of Accept. Only ErrUnknown and ErrForbidden count: a
// fencing error of Accept must not look like the guard's.
type notAccepted struct{ err error }

func (e *notAccepted) Error() string { return "httpguard: not accepted: " + e.err.Error() }
func (e *notAccepted) Unwrap() error { return e.err }

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var (
		refused *notAccepted
		stale   *fencing.StaleError
		ahead   *fencing.AheadError
		p       Problem
	)
	accepted := !errors.As(err, &refused)
	switch {
	case !accepted && errors.Is(err, ErrUnknown):
		p = newProblem(http.StatusNotFound, "There is no such resource. The token was not shown.")
	case !accepted && errors.Is(err, ErrForbidden):
		p = newProblem(http.StatusForbidden, "This client may not show a token for the resource.")
	case accepted && errors.Is(err, fencing.ErrStale):
		p = newProblem(http.StatusConflict, "The token is stale: a later holder has arrived. Stop, and acquire the lock again.")
		if errors.As(err, &stale) {
			p.Token, p.Highest = stale.Token, stale.Highest
		}
	case accepted && errors.Is(err, fencing.ErrNoToken):
		p = newProblem(http.StatusPreconditionRequired, "Send the token of the lease in the "+HeaderName+" header.")
	case accepted && errors.Is(err, fencing.ErrAhead):
		p = newProblem(http.StatusBadRequest, "The token is further ahead of the clock than this server believes. Send the token of the lease unchanged.")
		if errors.As(err, &ahead) {
			p.Token, p.Limit = ahead.Token, ahead.Limit
		}
		h.report(r, err)
	case accepted && errors.Is(err, fencing.ErrBadToken):
		p = newProblem(http.StatusBadRequest, "Send one "+HeaderName+" header with a whole number from 1 to "+fencing.MaxToken.String()+".")
	case accepted && errors.Is(err, fencing.ErrBadResource):
		p = newProblem(http.StatusBadRequest, "The request does not name a resource that can be guarded.")
	default:
		p = newProblem(http.StatusServiceUnavailable, "The token could not be checked. Nothing was done; try again.")
		h.report(r, err)
	}
	p.ServeHTTP(w, r)
}

func (h *handler) report(r *http.Request, err error) {
	if h.OnUnavailable != nil {
		h.OnUnavailable(r, err)
	}
}
