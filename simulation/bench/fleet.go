package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// fleet is the servers of a measurement.
type fleet []*redisproc.Server

func startFleet(ctx context.Context, n int) (fleet, error) {
	var f fleet
	for range n {
		server, err := redisproc.Start(ctx, redisproc.Config{})
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f = append(f, server)
	}
	return f, nil
}

func (f fleet) addrs() []string {
	addrs := make([]string, len(f))
	for i, server := range f {
		addrs[i] = server.Addr()
	}
	return addrs
}

// Close stops the servers and removes their files.
func (f fleet) Close() error {
	var errs []error
	for _, server := range f {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// flush empties the servers, because some contenders leave keys behind.
func (f fleet) flush() error {
	for _, server := range f {
		if _, err := server.MustAsk("FLUSHALL"); err != nil {
			return err
		}
	}
	return nil
}

// sent counts some of the commands that the servers have received.
func (f fleet) sent(names []string) (int, error) {
	sum := 0
	for _, server := range f {
		stats, err := server.Ask("INFO", "commandstats")
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(stats) {
			for _, name := range names {
				rest, is := strings.CutPrefix(line, "cmdstat_"+name+":calls=")
				if !is {
					continue
				}
				calls, _, _ := strings.Cut(rest, ",")
				n, err := strconv.Atoi(calls)
				if err != nil {
					return 0, fmt.Errorf("commandstats of %s: %q: %w", server.Addr(), line, err)
				}
				sum += n
			}
		}
	}
	return sum, nil
}
