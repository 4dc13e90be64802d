//go:build unix

package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// resetWord is the body of a request that ends all that steps have done.
const resetWord = "reset"

// ServeHTTP carries out steps, and says what the servers are like then. It answers one request at a time.
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status, err := f.answer(r)
	var answer any
	if err == nil {
		answer = f.members()
	} else {
		answer = map[string]string{"error": strings.ReplaceAll(err.Error(), "box: ", "")}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs none
}

// answer carries out a request, and returns the status of its answer.
func (f *Fleet) answer(r *http.Request) (status int, err error) {
	switch {
	case f.closed:
		return http.StatusServiceUnavailable, errors.New("the servers have ended")
	case r.URL.Path != "/" || r.URL.RawQuery != "" || r.Method != http.MethodGet && r.Method != http.MethodPost:
		return http.StatusNotFound, fmt.Errorf("there is no %s %s; there are GET /, and POST / with steps in its body, such as %q", r.Method, r.URL, "hang AB")
	case r.Method == http.MethodGet:
		return http.StatusOK, nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return http.StatusBadRequest, err
	}
	if strings.TrimSpace(string(text)) == resetWord {
		if err := f.heal(f.live); err != nil {
			return http.StatusInternalServerError, err
		}
		return http.StatusOK, nil
	}
	steps, err := f.steps(string(text))
	if err != nil {
		return http.StatusBadRequest, err
	}
	for _, step := range steps {
		switch err := f.do(f.live, step); {
		case errors.Is(err, errUnfit):
			return http.StatusConflict, fmt.Errorf("%q: %w", step, err)
		case errors.Is(err, ErrOptions), errors.Is(err, ErrNoClocks):
			return http.StatusNotImplemented, fmt.Errorf("%q: %w", step, err)
		case err != nil:
			return http.StatusInternalServerError, fmt.Errorf("%q: %w", step, err)
		}
	}
	return http.StatusOK, nil
}

// steps reads the steps of a request.
func (f *Fleet) steps(text string) (Schedule, error) {
	steps, err := ParseSchedule(text, len(f.servers))
	if err == nil && len(steps) == 0 {
		err = fmt.Errorf("there are no servers for %q", text)
	}
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), examples, `"hang AB", "cut AB" or "slow A 200ms"`))
	}
	times := map[verb]string{slow: "200ms", ahead: "60s", behind: "60s"}
	for _, step := range steps {
		switch {
		case err != nil:
		case forms[step.Do] < serversLast:
			err = fmt.Errorf("%q is about a client, and these servers have none: your test has its own", step)
		case step.Client != "":
			err = fmt.Errorf("%q is about a client, and all clients share the links to these servers: leave the client out", step)
		case slices.Contains(ofALock, step.Do):
			err = fmt.Errorf("%q is about the lock of a schedule of the box, and there is none", step)
		case times[step.Do] != "" && step.By == 0:
			err = fmt.Errorf("%q needs a time, as in %q", step, string(step.Do)+" A "+times[step.Do])
		}
	}
	return steps, err
}
