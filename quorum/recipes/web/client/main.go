// Command client adds 1 to the service's counter ten times, each time under a lock:
//
//	go run ./web/client http://127.0.0.1:8080 redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/redquorum/redlock/fencing/httpguard"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 3 {
		log.Fatal("usage: client SERVICE URL...")
	}
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, service string, urls []string) error {
	locks, err := redlock.Open(quorum.Config{}, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	for range 10 {
		err := locks.Do(ctx, "counter", func(ctx context.Context, _ *quorum.Lease) error { return add(ctx, service) })
		if err != nil {
			return err
		}
	}
	return nil
}

// add reads the counter and writes the next number. Its context has the token of the lease, and ends
// with it.
func add(ctx context.Context, service string) error {
	text, err := send(ctx, http.MethodGet, service, "")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	_, err = send(ctx, http.MethodPut, service, strconv.Itoa(n+1))
	return err
}

// holder's requests carry the token in a header.
var holder = http.Client{Transport: &httpguard.Transport{}}

func send(ctx context.Context, method, service, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, service, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	response, err := holder.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body) // 409: a later holder has been there
	}
	return string(body), err
}
