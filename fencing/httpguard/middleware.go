package httpguard

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// New puts a guard in front of a handler as c says. The error names the field of c
// that is wrong, or says that next is nil.
func New(c Config, next http.Handler) (http.Handler, error) {
	methods, err := c.validate()
	if err != nil {
		return nil, err
	}
	if isNil(next) {
		return nil, fmt.Errorf("httpguard: the handler behind the guard is nil; pass the one that serves the resource")
	}
	return &handler{Config: c, methods: methods, next: next}, nil
}

type handler struct {
	Config
	methods map[string]Action // Check for those it lacks; never written after New
	next    http.Handler
}

// ServeHTTP asks Accept, then the guard, then the handler. The order is what keeps
// the promises:
//
//   - Accept comes before the guard, so that a request which is refused, or is for
//     nothing, leaves no mark.
//   - The guard comes before the handler, so that a stale write is refused before
//     it happens, and a holder's token is shown before the handler reads for it.
//
// Whether the handler has the resource cannot be read off its answer instead, by
// raising the mark after a 200 or taking it back after a 404. By then the handler
// has read. With the mark raised after the read: B (token 34) reads 100, A (33)
// passes its check and writes 110, B's mark is raised, and B writes 101: A's write
// is lost, although both showed their tokens. With the mark taken back after a
// 404: B (34) reads "there is none", A (33), paused since it read the same, passes
// its check and creates, and B overwrites what A has created.
//
// So Accept has to know before the handler reads. It may look for the resource
// itself, because nobody computes anything from what it finds: a resource that is
// deleted just after leaves one mark too many, and one that is created just after
// is a 404 whose reader has shown nothing. That reader must not create on the
// strength of it; this is why Accept accepts names that may be created.
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
	resource := h.Resource(r)
	if err := fencing.Validate(resource, t); err != nil {
		return err
	}
	//guard:http-marks-the-accepted  only a token that is accepted leaves a mark
	//guard:http-asks  a handler's own Accept decides
	if err := h.Accept(r, resource, t); err != nil {
		return &notAccepted{err}
	}
	if action == Check {
		return h.Guard.Check(r.Context(), resource, t)
	}
	return h.Guard.Admit(r.Context(), resource, t)
}

// notAccepted is what Accept gave. Only ErrUnknown and ErrForbidden mean something
// in it: a fencing error of Accept's own would be answered as the guard's.
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
	switch {
	case errors.As(err, &refused):
		p = h.notAccepted(r, refused)
	case errors.As(err, &stale):
		p = newProblem(http.StatusConflict, "The token is stale: a later holder has arrived. Stop, and acquire the lock again.")
		p.Token, p.Highest = stale.Token, stale.Highest
	case errors.Is(err, fencing.ErrStale): // a guard that gives no details
		p = newProblem(http.StatusConflict, "The token is stale: a later holder has arrived. Stop, and acquire the lock again.")
	case errors.Is(err, fencing.ErrNoToken):
		p = newProblem(http.StatusPreconditionRequired, "Send the token of the lease in the "+HeaderName+" header.")
	case errors.Is(err, fencing.ErrAhead):
		p = newProblem(http.StatusBadRequest, "The token is further ahead of the clock than this server believes. Send the token of the lease unchanged.")
		if errors.As(err, &ahead) {
			p.Token, p.Limit = ahead.Token, ahead.Limit
		}
		h.tell(r, err)
	case errors.Is(err, fencing.ErrBadToken):
		p = newProblem(http.StatusBadRequest, "Send one "+HeaderName+" header with a whole number from 1 to "+fencing.MaxToken.String()+".")
	case errors.Is(err, fencing.ErrBadResource):
		p = newProblem(http.StatusBadRequest, "The request does not name a resource that can be guarded.")
	default:
		p = h.unavailable(r, err)
	}
	p.ServeHTTP(w, r)
}

func (h *handler) notAccepted(r *http.Request, err *notAccepted) Problem {
	switch {
	case errors.Is(err, ErrUnknown):
		return newProblem(http.StatusNotFound, "There is no such resource. The token was not shown.")
	case errors.Is(err, ErrForbidden):
		return newProblem(http.StatusForbidden, "This client may not show a token for the resource.")
	}
	return h.unavailable(r, err)
}

func (h *handler) unavailable(r *http.Request, err error) Problem {
	h.tell(r, err)
	return newProblem(http.StatusServiceUnavailable, "The token could not be checked. Nothing was done; try again.")
}

func (h *handler) tell(r *http.Request, err error) {
	if h.OnUnavailable != nil {
		h.OnUnavailable(r, err)
	}
}
