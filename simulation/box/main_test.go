//go:build unix

package box

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// The test program is a driver, too, if this variable is set: of a client that is broken in the ways that its words say,
// or, if it is "says", of one that answers with the program's arguments, one after the other.
const driverVariable = "BOX_TEST_DRIVER"

func TestMain(m *testing.M) {
	words, ok := os.LookupEnv(driverVariable)
	switch {
	case ok && words == "says":
		says(os.Args[1:])
	case ok:
		if err := driver.Run(documentDriver(strings.Fields(words)), os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
	default:
		instancetest.AtOnce(4)
		goleak.VerifyTestMain(m)
	}
}

// givesUp is the answer of a driver that ends in place of it.
const givesUp = "gives up"

// says prints an answer to each request, and none when there are no more.
func says(answers []string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if len(answers) == 0 {
			continue
		}
		if answers[0] == givesUp {
			fmt.Fprintln(os.Stderr, "the driver gives up")
			os.Exit(3)
		}
		fmt.Println(answers[0])
		answers = answers[1:]
	}
}

// document is a client with the algorithm of the Redis document, with TTL/100+2ms of drift, and its last lock.
type document struct {
	words   []string // how it is broken
	servers []*redis.Client
	limit   time.Duration // of a server's answer
	name    string        // of the client
	count   int           // of its requests
	key     string
	kept    string    // the value of its lease
	until   time.Time // its lease is over, or was given back
	runs    []string  // of the servers, when it was opened
}

func (d *document) broken(word string) bool { return slices.Contains(d.words, word) }

func documentDriver(words []string) driver.Driver {
	d := &document{words: words}
	hello := driver.Hello{Name: "document", Version: "1", Servers: driver.ManyServers, Can: []string{driver.CanExtend}}
	if d.broken("waits") {
		hello.Can = append(hello.Can, driver.CanWait)
	}
	if d.broken("same-token") {
		hello.Can = append(hello.Can, driver.CanToken)
	}
	if d.broken("one") {
		hello.Servers = driver.OneServer
	}
	return driver.Driver{Hello: hello, Open: d.open}
}

// mark is a key that a client sets on each server when it is opened, and that a server has lost with its data.
const mark = "mark"

func (d *document) open(client string, servers []string, ttl time.Duration) (driver.Client, error) {
	// A longer lease leaves the servers of a busy machine more time.
	d.limit = ttl / 7
	if d.broken("late-held") {
		d.limit = time.Hour
	}
	if d.broken("patient") {
		d.limit = ttl + 2*slack
	}
	for _, addr := range servers {
		d.servers = append(d.servers, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: d.limit, ReadTimeout: -1, WriteTimeout: -1,
		}))
	}
	d.name = client
	for _, c := range d.servers {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // on a busy machine
		if d.broken("marks") {
			_ = c.Set(ctx, mark, "", 0).Err() // a server without it has no vote
		}
		d.runs = append(d.runs, run(ctx, c))
		cancel()
	}
	return d, nil
}

// run is the run of a server, empty if it doesn't tell.
func run(ctx context.Context, c *redis.Client) string {
	return c.InfoMap(ctx, "server").Item("Server", "run_id")
}

// mayVote reports whether a client that takes some care trusts a server.
func (d *document) mayVote(ctx context.Context, c *redis.Client) bool {
	if d.broken("marks") && c.Exists(ctx, mark).Val() == 0 {
		return false
	}
	return !d.broken("runs") || run(ctx, c) == d.runs[slices.Index(d.servers, c)]
}

const (
	deleteIfOurs = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	extendIfOurs = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
)

// all counts the servers for which do is true. It asks them all at once.
func (d *document) all(do func(ctx context.Context, c *redis.Client) bool) int {
	yes := make(chan bool)
	for _, c := range d.servers {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), d.limit)
			defer cancel()
			yes <- do(ctx, c)
		}()
	}
	n := 0
	for range d.servers {
		if <-yes {
			n++
		}
	}
	return n
}

// valid reports whether enough servers voted, in time.
func (d *document) valid(ttl time.Duration, began time.Time, votes int) bool {
	d.until = began.Add(ttl - ttl/100 - 2*time.Millisecond)
	quorum := len(d.servers)/2 + 1
	switch {
	case d.broken("minority"):
		quorum = 1
	case d.broken("half"):
		quorum = (len(d.servers) + 1) / 2
	case d.broken("all"):
		quorum = len(d.servers)
	}
	return votes >= quorum && (d.broken("late-held") || time.Now().Before(d.until))
}

func (d *document) Acquire(_ context.Context, key string, ttl, wait time.Duration, _ func()) (driver.Lock, error) {
	d.key = key
	if d.broken("all-miss") {
		return nil, errors.New("missed")
	}
	for until := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		if err := d.try(ttl); err == nil {
			return d, nil
		} else if !time.Now().Before(until) {
			return nil, err
		}
	}
}

func (d *document) try(ttl time.Duration) error {
	d.count++
	value, began := fmt.Sprintf("%s-%d", d.name, d.count), time.Now()
	if d.broken("same-value") {
		value = d.name
	}
	expiry := ttl
	if d.broken("forever") || d.broken("two-steps") {
		expiry = 0
	}
	var refused atomic.Bool
	votes := d.all(func(ctx context.Context, c *redis.Client) bool {
		if !d.mayVote(ctx, c) {
			return false
		}
		ok, err := c.SetNX(ctx, d.key, value, expiry).Result()
		if err == nil && !ok {
			refused.Store(true)
		}
		if ok && d.broken("two-steps") {
			ok = c.PExpire(ctx, d.key, ttl).Val()
		}
		return ok
	})
	if d.valid(ttl, began, votes) {
		d.kept = value
		if d.broken("forgets-value") {
			d.kept = "forgotten"
		}
		return nil
	}
	d.delete(value)
	d.until = time.Time{}
	if refused.Load() {
		return driver.Taken(errors.New("refused"))
	}
	return errors.New("no quorum")
}

func (d *document) Token() uint64 { return 1 }

func (d *document) Left() time.Duration {
	if d.broken("seconds") { // it takes its TTL for seconds
		return 1000 * time.Until(d.until)
	}
	return time.Until(d.until)
}

func (d *document) Held() (bool, error) {
	return d.broken("ignores-deadline") || time.Now().Before(d.until), nil
}

func (d *document) Extend(ttl time.Duration) error {
	began := time.Now()
	script := extendIfOurs
	if d.broken("extends-all") {
		script = `return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
	}
	votes := d.all(func(ctx context.Context, c *redis.Client) bool {
		n, err := c.Eval(ctx, script, []string{d.key}, d.kept, ttl.Milliseconds()).Int()
		return err == nil && n == 1
	})
	if !d.valid(ttl, began, votes) {
		return errors.New("not extended")
	}
	return nil
}

func (d *document) Release() error {
	d.until = time.Time{}
	if d.delete(d.kept) < len(d.servers)/2+1 {
		return errors.New("not released")
	}
	return nil
}

func (d *document) delete(value string) int {
	return d.all(func(ctx context.Context, c *redis.Client) bool {
		if d.broken("deletes-all") {
			return c.Del(ctx, d.key).Err() == nil
		}
		return c.Eval(ctx, deleteIfOurs, []string{d.key}, value).Err() == nil
	})
}
