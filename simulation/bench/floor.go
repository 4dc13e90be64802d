package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// floors are the exchange alone, without a lock: no validity, no rollback, no order, no errors.
// They show the upper bound.
func floors() []contender {
	raw := func(need int) func([]string) (locker, error) {
		return func(addrs []string) (locker, error) { return openRaw(addrs, need), nil }
	}
	sends := []string{"set", "evalsha", "eval"}
	return []contender{
		{name: "raw, wait for all", note: "goroutines: SET NX PX, then a script that compares and deletes; no lock", servers: 5, sends: sends, open: raw(5)},
		{name: "raw, wait for three", note: "the same, going on at the third answer; no lock", servers: 5, sends: sends, open: raw(3)},
	}
}

var compareAndDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

type rawLocker struct {
	clients []*redis.Client
	need    int
}

func openRaw(addrs []string, need int) *rawLocker {
	r := &rawLocker{need: need}
	for _, addr := range addrs {
		r.clients = append(r.clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return r
}

// fan asks all servers and returns after enough replies.
func (r *rawLocker) fan(ask func(*redis.Client) error) error {
	answers := make(chan error, len(r.clients))
	for _, c := range r.clients {
		go func() { answers <- ask(c) }()
	}
	for range r.need {
		if err := <-answers; err != nil {
			return err
		}
	}
	return nil
}

func (r *rawLocker) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	value := hex.EncodeToString(random[:])
	err := r.fan(func(c *redis.Client) error {
		ok, err := c.SetNX(ctx, name, value, ttl).Result()
		// If not all replies are awaited, a delete of the previous round may still be
		// in flight.
		if err == nil && !ok && r.need == len(r.clients) {
			err = fmt.Errorf("%s is taken", name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return r.fan(func(c *redis.Client) error {
			return compareAndDelete.Run(ctx, c, []string{name}, value).Err()
		})
	}, nil
}

func (r *rawLocker) close() {
	for _, c := range r.clients {
		_ = c.Close()
	}
}
