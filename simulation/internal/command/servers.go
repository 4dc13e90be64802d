//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/redquorum/redlock/simulation/box"
)

// serversLine is what the command prints when the servers answer.
type serversLine struct {
	HTTP    string       `json:"http"`
	Product string       `json:"product"`
	Servers []box.Member `json:"servers"`
}

// runServers runs servers for a test suite, until that ends.
func runServers(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	parent := os.Getppid()
	var o box.Options
	var address string
	flags := flag.NewFlagSet("servers", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "usage: redlocksim servers [flags]\n"+
			"It prints one line of JSON: where the servers are, and the address that takes steps over HTTP, such as \"hang AB\".\n"+
			"It ends by a signal, and when its parent process does. docs/reference/servers.md is its manual.\n")
		flags.PrintDefaults()
	}
	flags.IntVar(&o.Servers, "n", 3, "how many servers, 1 to 9")
	flags.StringVar(&address, "http", "127.0.0.1:0", "the `address` that takes steps; port 0 is a free one")
	flags.StringVar(&o.Binary, "server", "", "the `program` to start as a server (default: redis-server)")
	flags.BoolVar(&o.Embedded, "embedded", false, "servers in this process, as when no redis-server is installed; they have fewer faults")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if o.Servers < 1 || o.Servers > 9 {
		return usageError{fmt.Errorf("-n is %d, want 1 to 9", o.Servers)}
	}
	if err := findServer(&o, stderr); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return usageError{fmt.Errorf("-http: %w", err)}
	}
	defer listener.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	go awaitParent(ctx, parent, end)
	fleet, err := box.StartFleet(ctx, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	line := serversLine{"http://" + listener.Addr().String(), fleet.Product(), fleet.Members()}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return err
	}
	return serve(ctx, listener, fleet)
}

// awaitParent calls end when this process's parent has died. The kernel gives its children another one then.
func awaitParent(ctx context.Context, parent int, end func()) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for os.Getppid() == parent {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
	end()
}
