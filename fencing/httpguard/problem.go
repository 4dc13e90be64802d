package httpguard

import (
	"encoding/json"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// ProblemType is the media type of the body of a refusal (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is the body of a refusal. Its type is always "about:blank", which in RFC 9457
// means a problem without more information than its status. So Title is the status's
// text.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Token and Highest are set if the token was stale: the refused token, and the
	// largest that the resource has seen. Both are exact as JSON numbers.
	Token   fencing.Token `json:"token,omitempty"`
	Highest fencing.Token `json:"highest,omitempty"`

	// Limit is set, with Token, if the token was ahead of the clock: the largest token
	// that the guard accepted.
	Limit fencing.Token `json:"limit,omitempty"`
}

func newProblem(status int, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// ServeHTTP writes the problem as the response. No cache may keep it: the next token may
// pass (and RFC 6585 forbids it for 428).
func (p Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(p)
	if err != nil { // no field can cause it
		http.Error(w, p.Title, p.Status)
		return
	}
	w.Header().Set("Content-Type", ProblemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
}
