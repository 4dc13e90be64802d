//go:build unix

package box

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// The test program is a driver, too, if this variable is set. It has words: how the client or
// the driver is broken.
const driverVariable = "BOX_TEST_DRIVER"

func TestMain(m *testing.M) {
	if words, ok := os.LookupEnv(driverVariable); ok {
		serve(strings.Fields(words))
		return
	}
	instancetest.AtOnce(4)
	goleak.VerifyTestMain(m)
}

// serve is a driver for the algorithm of the Redis document with TTL/100+2ms of drift.
func serve(words []string) {
	broken := func(word string) bool { return slices.Contains(words, word) }
	var d document
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r driver.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		a := driver.Answer{ID: r.ID}
		switch {
		case broken("mute"):
			continue
		case broken("dies") && r.Do == driver.DoAcquire:
			fmt.Fprintln(os.Stderr, "the driver gives up")
			os.Exit(3)
		case broken("garbage") && r.Do == driver.DoAcquire:
			fmt.Println("connecting to the servers ...")
		case broken("wrong-type") && r.Do == driver.DoAcquire:
			fmt.Println(`{"id":3,"held":"yes"}`)
		case broken("wrong-id") && r.Do == driver.DoAcquire:
			a.ID += 7
		case r.Do == driver.DoAcquire && (broken("all-miss") || broken("third-misses") && strings.HasSuffix(r.Key, "-c3")):
			r.Do, a.Why = "", "missed"
		}
		switch r.Do {
		case driver.DoHello:
			a.Name, a.Version, a.Servers, a.Can = "document", "1", driver.ManyServers, []string{driver.CanExtend}
			if broken("waits") {
				a.Can = append(a.Can, driver.CanWait)
			}
			if broken("same-token") {
				a.Can = append(a.Can, driver.CanToken)
			}
			switch {
			case broken("one"):
				a.Servers = driver.OneServer
			case broken("two"):
				a.Servers = "two"
			case broken("flies"):
				a.Can = []string{"fly"}
			case broken("no-name"):
				a.Name = ""
			}
		case driver.DoOpen:
			d.open(r, broken)
		case driver.DoAcquire:
			for until := time.Now().Add(time.Duration(r.Wait) * time.Millisecond); ; time.Sleep(20 * time.Millisecond) {
				if a.Held, a.Why = d.acquire(r); a.Held || time.Now().After(until) {
					break
				}
			}
			left := time.Until(d.until).Seconds() * 1000
			if broken("seconds") { // it takes its TTL for seconds
				left *= 1000
			}
			a.Left, a.Token = &left, 1
			if broken("says-nothing") {
				a = driver.Answer{ID: r.ID}
			}
		case driver.DoCheck:
			a.Held = broken("ignores-deadline") || broken("always-held") || time.Now().Before(d.until)
		case driver.DoExtend:
			a.Held = d.extend(r)
		case driver.DoRelease:
			a.Done = d.release(r)
		}
		text, _ := json.Marshal(a)
		fmt.Println(string(text))
	}
}

// document is the client.
type document struct {
	servers []*redis.Client
	broken  func(word string) bool
	limit   time.Duration // of a server's answer
	name    string        // of the client
	count   int           // of its requests
	kept    string        // the value of its lease
	until   time.Time
	runs    []string // of the servers, when it was opened
}

// mark is a key that a client sets on each server when it is opened, and that a server has lost with its data.
const mark = "mark"

func (d *document) open(r driver.Request, broken func(string) bool) {
	d.broken = broken
	// A longer lease leaves the servers of a busy machine more time.
	d.limit = time.Duration(r.TTL) * time.Millisecond / 7
	if broken("late-held") {
		d.limit = time.Hour
	}
	if broken("patient") {
		d.limit = time.Duration(r.TTL)*time.Millisecond + 2*slack
	}
	for _, addr := range r.Servers {
		d.servers = append(d.servers, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: d.limit, ReadTimeout: -1, WriteTimeout: -1,
		}))
	}
	d.name = r.Client
	for _, c := range d.servers {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // on a busy machine
		if broken("marks") {
			_ = c.Set(ctx, mark, "", 0).Err() // a server without it has no vote
		}
		d.runs = append(d.runs, run(ctx, c))
		cancel()
	}
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

func (d *document) valid(r driver.Request, began time.Time, votes int) bool {
	ttl := time.Duration(r.TTL) * time.Millisecond
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

func (d *document) acquire(r driver.Request) (held bool, why string) {
	if d.broken("always-held") {
		return true, ""
	}
	d.count++
	value, began := fmt.Sprintf("%s-%d", d.name, d.count), time.Now()
	if d.broken("same-value") {
		value = d.name
	}
	refused, ttl := false, time.Duration(r.TTL)*time.Millisecond
	if d.broken("forever") || d.broken("two-steps") {
		ttl = 0
	}
	votes := d.all(func(ctx context.Context, c *redis.Client) bool {
		if !d.mayVote(ctx, c) {
			return false
		}
		ok, err := c.SetNX(ctx, r.Key, value, ttl).Result()
		if ok && d.broken("two-steps") {
			ok = c.PExpire(ctx, r.Key, time.Duration(r.TTL)*time.Millisecond).Val()
		}
		refused = refused || err == nil && !ok
		return ok
	})
	if d.valid(r, began, votes) {
		d.kept = value
		if d.broken("forgets-value") {
			d.kept = "forgotten"
		}
		return true, ""
	}
	d.delete(r.Key, value)
	d.until = time.Time{}
	if refused {
		return false, driver.WhyTaken
	}
	return false, "no quorum"
}

func (d *document) extend(r driver.Request) bool {
	began := time.Now()
	script := extendIfOurs
	if d.broken("extends-all") {
		script = `return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
	}
	votes := d.all(func(ctx context.Context, c *redis.Client) bool {
		n, err := c.Eval(ctx, script, []string{r.Key}, d.kept, r.TTL).Int()
		return err == nil && n == 1
	})
	return d.valid(r, began, votes)
}

func (d *document) release(r driver.Request) bool {
	d.until = time.Time{}
	if d.broken("never-releases") {
		return true
	}
	return d.delete(r.Key, d.kept) >= len(d.servers)/2+1
}

func (d *document) delete(key, value string) int {
	return d.all(func(ctx context.Context, c *redis.Client) bool {
		if d.broken("deletes-all") {
			return c.Del(ctx, key).Err() == nil
		}
		return c.Eval(ctx, deleteIfOurs, []string{key}, value).Err() == nil
	})
}
