// Command service keeps a counter that clients with a lock may change. It refuses a client whose
// lock is over, by its token:
//
//	go run ./web/service 127.0.0.1:8080
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

// counter is what the service keeps, with its guard. A real one keeps both in a database.
type counter struct {
	guard fencing.Memory
	value int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	change := func() {} // a read changes nothing
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(io.LimitReader(r.Body, 20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		value, err := strconv.Atoi(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		change = func() { c.value = value }
	}
	var now int
	token, _ := fencing.FromContext(r.Context())
	// The check and the change are one step.
	err := c.guard.Write(r.Context(), "counter", token, func() error {
		change()
		now = c.value
		return nil
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	fmt.Fprint(w, now)
}

func main() {
	c := &counter{}
	handler, err := httpguard.New(httpguard.Config{
		Guard:        &c.guard,
		Resource:     func(*http.Request) string { return "counter" },
		Accept:       httpguard.AcceptAny, // a real one asks who the client is
		RequireToken: true,
	}, c)
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) != 2 {
		log.Fatal("usage: service ADDRESS")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	// Without timeouts, clients that send nothing would keep their connections forever.
	server := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	log.Fatal(server.Serve(listener))
}
