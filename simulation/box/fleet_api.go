//go:build unix

package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// longestBody is how long a request's body may be, in bytes.
const longestBody = 4 << 10

// ServeHTTP answers the requests of the Fleet's API, one at a time.
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.api.ServeHTTP(w, r) }

// routes makes the API.
func (f *Fleet) routes() *http.ServeMux {
	// named has the servers and the fault of a request's path.
	named := func(do func([]*Member, FleetFault, FaultValues) error) http.HandlerFunc {
		return f.answers(func(r *http.Request, v FaultValues) ([]*Member, error) {
			members, err := f.named(r.PathValue("servers"))
			if err != nil {
				return nil, err
			}
			var names []string
			for _, fault := range FleetFaults() {
				if fault.Name == r.PathValue("fault") {
					return members, do(members, fault, v)
				}
				names = append(names, fault.Name)
			}
			return nil, refuse(http.StatusNotFound, "no fault %q; there are %s", r.PathValue("fault"), strings.Join(names, ", "))
		})
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /servers", f.answers(func(*http.Request, FaultValues) ([]*Member, error) { return f.members, nil }))
	api.HandleFunc("POST /servers/{servers}/{fault}", named(f.apply))
	api.HandleFunc("DELETE /servers/{servers}/{fault}", named(func(members []*Member, fault FleetFault, _ FaultValues) error { return f.heal(members, fault) }))
	api.HandleFunc("POST /reset", f.answers(func(*http.Request, FaultValues) ([]*Member, error) { return f.members, f.reset() }))
	api.HandleFunc("/", f.answers(func(r *http.Request, _ FaultValues) ([]*Member, error) {
		return nil, refuse(http.StatusNotFound, "there is no %s %s; there are GET /servers, POST and DELETE /servers/SERVERS/FAULT, and POST /reset", r.Method, r.URL.Path)
	}))
	return api
}

// refusal is a request that isn't carried out, as an HTTP status and a reason.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// answers answers a request with the servers that do returns, or with an error.
func (f *Fleet) answers(do func(*http.Request, FaultValues) ([]*Member, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := values(w, r)
		all := []Member{}
		if err == nil {
			all, err = f.locked(func() ([]*Member, error) { return do(r, v) })
		}
		status, answer := http.StatusOK, any(all)
		if err != nil {
			status, answer = http.StatusInternalServerError, map[string]string{"error": err.Error()}
			if refused := (*refusal)(nil); errors.As(err, &refused) {
				status = refused.status
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs none
	}
}

func (f *Fleet) locked(do func() ([]*Member, error)) ([]Member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, refuse(http.StatusServiceUnavailable, "the servers have ended")
	}
	members, err := do()
	return told(members), err
}

// values reads a request's body. Only a fault that is applied has values, and they are nowhere else.
func values(w http.ResponseWriter, r *http.Request) (v FaultValues, err error) {
	bad := func(format string, args ...any) (FaultValues, error) {
		return FaultValues{}, refuse(http.StatusBadRequest, format, args...)
	}
	if r.URL.RawQuery != "" {
		return bad("?%s has no effect: a fault's values are JSON in the body of its POST, such as %s", r.URL.RawQuery, FleetFaults()[0].Values)
	}
	text := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody))
	text.DisallowUnknownFields()
	if err := text.Decode(&v); errors.Is(err, io.EOF) {
		return v, nil // no body
	} else if err != nil {
		return bad("the body can't be used: %v; want JSON such as %s, or no body", err, FleetFaults()[0].Values)
	}
	if text.More() {
		return bad("the body goes on after its JSON")
	}
	if r.PathValue("fault") == "" || r.Method != http.MethodPost {
		return bad("%s %s takes no body: a fault's values are in the body of its POST", r.Method, r.URL.Path)
	}
	return v, nil
}
