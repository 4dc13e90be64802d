package httpguard_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

// A store of documents: the middleware refuses stale holders early, and the
// handler closes the gap by checking again in one step with its write.
func Example() {
	var (
		guard     fencing.Memory
		documents = map[string]string{}
	)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, documents[r.URL.Path])
			return
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		token, _ := fencing.FromContext(r.Context())
		err = guard.Write(r.Context(), r.URL.Path, token, func() error {
			documents[r.URL.Path] = string(text)
			return nil
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	guarded, err := httpguard.New(httpguard.Config{
		Guard:    &guard,
		Resource: func(r *http.Request) string { return r.URL.Path },
		Accept: func(r *http.Request, resource string, _ fencing.Token) error {
			if resource != "/doc" { // the only resource that clients may write here
				return httpguard.ErrUnknown
			}
			return nil // a real one checks the client, too
		},
	}, handler)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(guarded)
	defer server.Close()

	client := http.Client{Transport: &httpguard.Transport{Base: server.Client().Transport}}
	sendTo := func(path, method, text string, token fencing.Token) {
		ctx := fencing.NewContext(context.Background(), token)
		req, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%d %s %d %s", token, method, resp.StatusCode, body)))
	}
	send := func(method, text string, token fencing.Token) { sendTo("/doc", method, text, token) }
	send("PUT", "first", 33)
	send("GET", "", 34) // the holder of 34 arrives, and reads
	send("PUT", "late", 33)
	send("PUT", "second", 34)
	send("PUT", "nobody's", 0)
	sendTo("/junk", "GET", "", 35)
	fmt.Println("marks:", guard.Len())
	// Output:
	// 33 PUT 200
	// 34 GET 200 first
	// 33 PUT 409 {"type":"about:blank","title":"Conflict","status":409,"detail":"The token is stale: a later holder has arrived. Stop, and acquire the lock again.","token":33,"highest":34}
	// 34 PUT 200
	// 0 PUT 428 {"type":"about:blank","title":"Precondition Required","status":428,"detail":"Send the token of the lease in the Fencing-Token header."}
	// 35 GET 404 {"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such resource. The token was not shown."}
	// marks: 1
}

func ExampleSetHeader() {
	req := httptest.NewRequest(http.MethodPut, "/doc", nil)
	fmt.Println(httpguard.SetHeader(req, 33), req.Header.Get(httpguard.HeaderName))
	// Output: <nil> 33
}
