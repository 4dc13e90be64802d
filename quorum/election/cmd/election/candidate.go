//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/wire"
)

// candidate is one process. Its arguments are the TTL and the servers, each as its URL, a blank
// and its run ID. It ends when its standard input does, because then its parent is gone.
func candidate(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	if len(args) < 2 {
		return errors.New("a candidate is started by this command")
	}
	ttl, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	var instances []wire.Instance
	for _, server := range args[1:] {
		url, runID, _ := strings.Cut(server, " ")
		// The servers are new, and nobody has locked on them.
		opened, err := instance.Open(url, instance.Config{FixedAddress: true, VouchedRunID: runID})
		if err != nil {
			return err
		}
		defer opened.Close() //nolint:errcheck // the process ends
		instances = append(instances, opened)
	}
	locks, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl, Owner: strconv.Itoa(os.Getpid())}, instances...)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = errors.Join(err, locks.Close(closing))
	}()
	e, err := election.New(locks, "example", election.Config{})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() { // it ends with the process
		_, _ = io.Copy(io.Discard, stdin)
		end()
	}()
	fmt.Fprintln(stdout, campaigns)
	err = e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
		fmt.Fprintln(stdout, leads, term)
		<-ctx.Done() // here the leader would work, and show its term to what it changes
		fmt.Fprintln(stdout, stops, context.Cause(ctx))
		return nil
	})
	if errors.Is(err, quorum.ErrInterrupted) {
		return nil
	}
	return err
}
