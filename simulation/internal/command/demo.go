package command

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// cleanupTimeout bounds the cleanup, also after Ctrl-C.
const cleanupTimeout = 5 * time.Second

type demoFlags struct {
	instances string
	n         int
	ttl       time.Duration
	trust     bool
}

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f demoFlags
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&f.instances, "instances", "", "real servers to use, as `URLs` separated by commas (default: embedded ones)")
	flags.IntVar(&f.n, "n", 5, "the number of embedded servers")
	flags.DurationVar(&f.ttl, "ttl", 2*time.Second, "the TTL of leases")
	flags.BoolVar(&f.trust, "trust", false, "trust real servers that have just started, instead of waiting for their quarantine")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	servers, err := openServers(f)
	if err != nil {
		return usageError{err}
	}
	defer servers.close()
	d, err := newDemo(f, servers, stdout)
	if err != nil {
		return usageError{err}
	}
	defer d.close()
	err = d.play(ctx, f.trust)
	if ctx.Err() != nil {
		fmt.Fprintln(stdout, "\ninterrupted; the lock is released and nothing is left behind")
		return errors.New("interrupted")
	}
	return err
}

// servers are the instances of a demo.
type servers struct {
	instances []wire.Instance
	kind      string
	close     func()
	// forget deletes the counters of the demo's key, which would otherwise remain for a
	// while.
	forget func(ctx context.Context, key string)
}

func openServers(f demoFlags) (servers, error) {
	if f.instances == "" {
		cluster, err := embedded.StartPiped(f.n)
		if err != nil {
			return servers{}, err
		}
		return servers{
			instances: cluster.Instances(), kind: "embedded",
			close:  func() { _ = cluster.Close() }, // they go with the process
			forget: func(context.Context, string) {},
		}, nil
	}
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, commas(f.instances)...)
	if err != nil {
		return servers{}, err
	}
	return servers{
		instances: group.Instances(), kind: "real",
		close: func() { _ = group.Close() },
		forget: func(ctx context.Context, key string) {
			var all sync.WaitGroup
			for _, member := range group.Members() {
				all.Go(func() { _ = member.Client().Del(ctx, instance.CounterKey(key), instance.SetKey(key)).Err() })
			}
			all.Wait()
		},
	}, nil
}

// demo has two clients, a resource with a guard, and one without.
type demo struct {
	out     io.Writer
	began   time.Time
	key     string
	servers servers
	ttl     time.Duration

	alice, bob *quorum.Coordinator

	guard     *fencing.Memory
	guarded   int // what the resource with the guard holds
	unguarded int // what it would hold without
}

const (
	opening  = 100 // the account at the start
	aliceAdd = 10
	bobAdd   = 30
)

func newDemo(f demoFlags, s servers, out io.Writer) (*demo, error) {
	d := &demo{
		out: out, servers: s, ttl: f.ttl, key: "redlocksim-demo-" + rand.Text()[:8],
		guard: &fencing.Memory{}, guarded: opening, unguarded: opening,
	}
	var err error
	if d.alice, err = d.client("alice"); err != nil {
		return nil, err
	}
	if d.bob, err = d.client("bob"); err != nil {
		return nil, errors.Join(err, d.alice.Close(context.Background()))
	}
	return d, nil
}

// client is one of the two clients, with its own Coordinator, as in a separate process.
func (d *demo) client(name string) (*quorum.Coordinator, error) {
	timeout := min(max(time.Millisecond, d.ttl*2/5), time.Second) // a busy machine takes its time
	return quorum.New(quorum.Config{Terms: quorum.Terms{TTL: d.ttl}, MaxTTL: d.ttl, InstanceTimeout: timeout, Owner: name}, d.servers.instances...)
}

func (d *demo) close() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_ = d.alice.Close(ctx)
	_ = d.bob.Close(ctx)
	d.servers.forget(ctx, d.key)
}

// say prints one line.
func (d *demo) say(who, format string, args ...any) {
	fmt.Fprintf(d.out, "%6d ms  %-6s %s\n", time.Since(d.began).Milliseconds(), who, fmt.Sprintf(format, args...))
}

func (d *demo) play(ctx context.Context, trust bool) error {
	set := d.alice.Set()
	fmt.Fprintf(d.out, "%d %s servers, a quorum is %d; a lease lasts %v. An account holds %d.\n", set.N, d.servers.kind, set.Q, d.ttl, opening)
	fmt.Fprintf(d.out, "alice wants to add %d, bob %d; both do it under the lock %q.\n\n", aliceAdd, bobAdd, d.key)
	d.began = time.Now()
	d.makeReady(ctx, trust)
	d.say("alice", "asks for the lock")
	hers, err := d.acquire(ctx, "alice", d.alice)
	if err != nil {
		return err
	}
	defer func() { _ = hers.Release(context.WithoutCancel(ctx)) }() // done already unless something failed
	if err := d.guard.Admit(ctx, d.key, hers.Token()); err != nil {
		return err
	}
	read := d.guarded
	d.say("alice", "reads %d, and is paused: by a garbage collection, a busy machine, a suspended machine", read)

	his, err := d.bobWaits(ctx, hers)
	if err != nil {
		return err
	}
	defer func() { _ = his.Release(context.WithoutCancel(ctx)) }()
	if err := d.bobWrites(ctx, his); err != nil {
		return err
	}
	return d.aliceWakesUp(ctx, hers, read)
}

// makeReady verifies the servers and reports problems. Servers that have just started may
// have forgotten votes, so they are quarantined. No problem ends the demo, because a quorum
// may work without these servers.
func (d *demo) makeReady(ctx context.Context, trust bool) {
	for _, client := range []*quorum.Coordinator{d.alice, d.bob} {
		if trust {
			_ = client.Trust(ctx) // Verify reports servers that do not answer
		}
		report, _ := client.Verify(ctx) // the report has its errors
		if client != d.alice {
			continue // his report is the same
		}
		for _, r := range report.Instances {
			if r.Err != nil {
				fmt.Fprintf(d.out, "%s: %v\n\n", r.Name, r.Err)
			}
		}
	}
}

// acquire acquires the lock and prints how.
func (d *demo) acquire(ctx context.Context, who string, client *quorum.Coordinator) (*quorum.Lease, error) {
	waiting, cancel := context.WithTimeout(ctx, 4*d.ttl+cleanupTimeout)
	defer cancel()
	lease, err := client.Acquire(waiting, d.key)
	if err != nil {
		return nil, err
	}
	d.say(who, "holds it: token %d, valid for %v", lease.Token(), lease.Validity().Round(time.Millisecond))
	d.say("", "votes: %s", ballots(lease.Votes()))
	return lease, nil
}

func ballots(votes []quorum.Ballot) string {
	words := make([]string, len(votes))
	for i, ballot := range votes {
		outcome := ballot.Vote.Outcome.String()
		if errors.Is(ballot.Vote.Err, quorum.ErrPending) {
			outcome = "not waited for"
		}
		words[i] = ballot.Instance + " " + outcome
		if ballot.Vote.Outcome == wire.Granted {
			words[i] = fmt.Sprintf("%s %v", words[i], ballot.Latency.Round(10*time.Microsecond))
		}
	}
	return strings.Join(words, ", ")
}

// bobWaits until alice's lease has expired.
func (d *demo) bobWaits(ctx context.Context, hers *quorum.Lease) (*quorum.Lease, error) {
	switch lease, err := d.bob.TryAcquire(ctx, d.key); {
	case err == nil && hers.Err() == nil:
		return lease, errors.New("two clients hold the lock at once; this must not happen while alice's lease is valid")
	case err == nil:
		d.say("bob", "gets the lock at once: this machine is so busy that alice's lease has expired")
		return lease, nil
	case !errors.Is(err, quorum.ErrTaken):
		return nil, err
	}
	seen, err := d.bob.Inspect(ctx, d.key)
	if err != nil {
		return nil, err
	}
	if holder := seen.Held(); holder != nil {
		d.say("bob", "asks for it, finds that %s holds it for %v more, and waits", holder.Owner, holder.Remaining.Round(time.Millisecond))
	}
	return d.acquire(ctx, "bob", d.bob)
}

func (d *demo) bobWrites(ctx context.Context, lease *quorum.Lease) error {
	if err := d.guard.Admit(ctx, d.key, lease.Token()); err != nil {
		return err
	}
	read := d.guarded
	d.say("bob", "shows his token to the guard, reads %d, writes %d", read, read+bobAdd)
	d.unguarded = read + bobAdd
	if err := d.guard.Write(ctx, d.key, lease.Token(), func() error { d.guarded = read + bobAdd; return nil }); err != nil {
		return err
	}
	if err := lease.Release(ctx); err != nil && !errors.Is(err, quorum.ErrNotHeld) { // on a busy machine it may have expired
		return err
	}
	d.say("bob", "releases the lock")
	return nil
}

// aliceWakesUp continues where alice was stopped: before she next reads the clock.
func (d *demo) aliceWakesUp(ctx context.Context, lease *quorum.Lease, read int) error {
	d.say("alice", "continues where she was stopped, and writes %d with token %d", read+aliceAdd, lease.Token())
	d.unguarded = read + aliceAdd
	err := d.guard.Write(ctx, d.key, lease.Token(), func() error { d.guarded = read + aliceAdd; return nil })
	var stale *fencing.StaleError
	if !errors.As(err, &stale) {
		return fmt.Errorf("the late write was not refused as stale (%v): the account holds %d", err, d.guarded)
	}
	d.say("guard", "refuses it: token %d, but it has seen %d", stale.Token, stale.Highest)
	if over := lease.Err(); over == nil {
		return errors.New("alice's lease is still valid, although bob held the lock")
	} else {
		d.say("alice", "looks at her lease: %v", over)
	}
	if err := lease.Release(ctx); !errors.Is(err, quorum.ErrNotHeld) {
		return fmt.Errorf("her release should have found nothing to release, but said: %v", err)
	}
	d.say("alice", "releases it, and learns that she worked without the lock")

	fmt.Fprintf(d.out, "\nThe account holds %d: it has bob's change, and alice knows that hers is missing.\n", d.guarded)
	fmt.Fprintf(d.out, "Without the guard it would hold %d: bob's %d would be lost without notice.\n", d.unguarded, bobAdd)
	fmt.Fprintf(d.out, "No lock can prevent that, because no lock can stop a client that is about to write. The token can.\n")
	return nil
}
