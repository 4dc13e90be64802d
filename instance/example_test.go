package instance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
)

// Package redlock does this in one call; here the servers can have a Config. They run inside the
// process; a program has URLs such as redis://user:password@host:6379/0.
func ExampleOpenAll() {
	cluster, err := embedded.Start(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	ctx := context.Background()
	servers, err := instance.OpenAll(instance.Config{}, cluster.URLs()...)
	if err != nil {
		fmt.Println(err) // says which URL, and never the password
		return
	}
	locks, err := quorum.New(quorum.Config{TTL: 5 * time.Second, InstanceTimeout: time.Second, CloseAlso: servers}, servers.Instances()...)
	if err != nil {
		fmt.Println(err, servers.Close())
		return
	}
	defer locks.Close(ctx) // and the servers' connections

	// These were just started, and no lock was taken on them before.
	if err := locks.Trust(ctx); err != nil {
		fmt.Println(err)
		return
	}
	lease, err := locks.Acquire(ctx, "orders:42")
	if err != nil {
		fmt.Println(err) // says which instance did what
		return
	}
	fmt.Println("held:", lease.Validity() > 4*time.Second, lease.Token().Valid())
	fmt.Println("released:", lease.Release(ctx))
	// Output:
	// held: true true
	// released: <nil>
}

// Open refuses what can't be an address before dialing.
func ExampleOpen() {
	_, err := instance.Open("redis://:secret@host:6379?max_retries=3", instance.Config{})
	fmt.Println(errors.Is(err, instance.ErrURL))
	fmt.Println(err)
	// Output:
	// true
	// instance: bad server URL: parameter max_retries is not accepted: a command must not be sent twice
}

// TLS with a CA of one's own.
func ExampleOpen_tls() {
	open := func(caFile string) (*instance.Redis, error) {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", caFile)
		}
		return instance.Open("rediss://redis.example:6379", instance.Config{TLS: &tls.Config{RootCAs: roots}})
	}
	_, err := open("no-such-file.pem")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// true
}

// A client configured as a cache doesn't suit a lock; Harden fixes it.
func ExampleNew() {
	options := &redis.Options{Addr: "redis.example:6379", MaxRetries: 3, ContextTimeoutEnabled: true}
	client := redis.NewClient(options)
	defer client.Close()
	_, err := instance.New(client, instance.Config{})
	var wrong *instance.OptionError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Option, "is", wrong.Got, "and should be", wrong.Want)
	}

	hardened := redis.NewClient(instance.Harden(options))
	defer hardened.Close()
	inst, err := instance.New(hardened, instance.Config{Name: "a"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inst.Name())
	// Output:
	// MaxRetries is 3 and should be -1 (none)
	// a
}
