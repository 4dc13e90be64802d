package httpguard

import (
	"encoding/json"
	"net/http"

	"github.com/redquorum/redlock/fencing"
)

// ProblemType is the media type of the body of a refusal, as RFC 9457 has it.
const ProblemType = "application/problem+json"

// Problem is the body of a refusal. Its type is always "about:blank", which RFC
// 9457 gives to problems that say no more than their status; so Title is the
// status's text.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Token and Highest are there when the token was stale: the one refused, and
	// the largest that the resource has seen. Both are exact as JSON numbers.
	Token   fencing.Token `json:"token,omitempty"`
	Highest fencing.Token `json:"highest,omitempty"`

	// Limit is there, with Token, when the token was ahead of the clock: the
	// largest that the guard believed.
	Limit fencing.Token `json:"limit,omitempty"`
}

func newProblem(status int, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// ServeHTTP writes the problem as the answer to a request. No cache may keep it:
// what is refused now may pass with the next token (and RFC 6585 forbids it for
// 428).
func (p Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(p)
	if err != nil { // no field can cause it
		http.Error(w, p.Title, p.Status)
		return
	}
	w.Header().Set("Content-Type", ProblemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client has gone: nobody is left to tell
}
