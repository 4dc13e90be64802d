package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// cleanupTimeout bounds the cleanup, also after Ctrl-C.
const cleanupTimeout = 5 * time.Second

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := parse(flag.NewFlagSet("demo", flag.ContinueOnError), args, stderr); err != nil {
		return err
	}
	servers, err := embedded.StartPiped(5)
	if err != nil {
		return err
	}
	defer func() { _ = servers.Close() }() // they go with the process
	d, err := newDemo(servers.Instances(), stdout)
	if err != nil {
		return err
	}
	defer d.close()
	err = d.play(ctx)
	if ctx.Err() != nil {
		return interrupted(ctx, ctx.Err())
	}
	return err
}

// demo has two clients, a resource with a guard, and one without.
type demo struct {
	out   io.Writer
	began time.Time

	alice, bob *quorum.Coordinator

	guard     *fencing.Memory
	guarded   int // what the resource with the guard holds
	unguarded int // what it would hold without
}

const (
	key      = "account"
	ttl      = 2 * time.Second
	opening  = 100 // the account at the start
	aliceAdd = 10
	bobAdd   = 30
)

func newDemo(servers []wire.Instance, out io.Writer) (*demo, error) {
	d := &demo{out: out, guard: &fencing.Memory{}, guarded: opening, unguarded: opening}
	var err error
	if d.alice, err = demoClient("alice", servers); err != nil {
		return nil, err
	}
	if d.bob, err = demoClient("bob", servers); err != nil {
		return nil, errors.Join(err, d.alice.Close(context.Background()))
	}
	return d, nil
}

// demoClient is one of the two clients, with its own Coordinator, as in a separate process. A busy
// machine takes its time.
func demoClient(name string, servers []wire.Instance) (*quorum.Coordinator, error) {
	return quorum.New(quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl, InstanceTimeout: ttl * 2 / 5, Owner: name}, servers...)
}

func (d *demo) close() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_ = d.alice.Close(ctx)
	_ = d.bob.Close(ctx)
}

// say prints one line.
func (d *demo) say(who, format string, args ...any) {
	fmt.Fprintf(d.out, "%6d ms  %-6s %s\n", time.Since(d.began).Milliseconds(), who, fmt.Sprintf(format, args...))
}

func (d *demo) play(ctx context.Context) error {
	set := d.alice.Set()
	fmt.Fprintf(d.out, "%d embedded servers, a quorum is %d; a lease lasts %v. An account holds %d.\n", set.N, set.Q, ttl, opening)
	fmt.Fprintf(d.out, "alice wants to add %d, bob %d; both do it under the lock %q.\n\n", aliceAdd, bobAdd, key)
	d.began = time.Now()
	d.say("alice", "asks for the lock")
	hers, err := d.acquire(ctx, "alice", d.alice)
	if err != nil {
		return err
	}
	defer func() { _ = hers.Release(context.WithoutCancel(ctx)) }() // done already unless something failed
	if err := d.guard.Admit(ctx, key, hers.Token()); err != nil {
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

// acquire acquires the lock and prints how.
func (d *demo) acquire(ctx context.Context, who string, client *quorum.Coordinator) (*quorum.Lease, error) {
	waiting, cancel := context.WithTimeout(ctx, 4*ttl+cleanupTimeout)
	defer cancel()
	lease, err := client.Acquire(waiting, key)
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
	switch lease, err := d.bob.TryAcquire(ctx, key); {
	case err == nil && hers.Err() == nil:
		return lease, errors.New("two clients hold the lock at once; this must not happen while alice's lease is valid")
	case err == nil:
		d.say("bob", "gets the lock at once: this machine is so busy that alice's lease has expired")
		return lease, nil
	case !errors.Is(err, quorum.ErrTaken):
		return nil, err
	}
	seen, err := d.bob.Inspect(ctx, key)
	if err != nil {
		return nil, err
	}
	if holder := seen.Held(); holder != nil {
		d.say("bob", "asks for it, finds that %s holds it for %v more, and waits", holder.Owner, holder.Remaining.Round(time.Millisecond))
	}
	return d.acquire(ctx, "bob", d.bob)
}

func (d *demo) bobWrites(ctx context.Context, lease *quorum.Lease) error {
	if err := d.guard.Admit(ctx, key, lease.Token()); err != nil {
		return err
	}
	read := d.guarded
	d.say("bob", "shows his token to the guard, reads %d, writes %d", read, read+bobAdd)
	d.unguarded = read + bobAdd
	if err := d.guard.Write(ctx, key, lease.Token(), func() error { d.guarded = read + bobAdd; return nil }); err != nil {
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
	err := d.guard.Write(ctx, key, lease.Token(), func() error { d.guarded = read + aliceAdd; return nil })
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
