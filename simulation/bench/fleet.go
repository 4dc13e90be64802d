package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

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

// cpu is the processor time that the servers have used.
func (f fleet) cpu() (sum time.Duration, err error) {
	for _, server := range f {
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			value, err := server.Info(name)
			if err != nil {
				return 0, err
			}
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("%s of %s is %q: %w", name, server.Addr(), value, err)
			}
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum, nil
}
