//go:build unix

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// box is the state of a Run, and what it has found so far.
type box struct {
	options   Options
	hello     driver.Hello
	fleets    chan *Fleet
	clocks    clocks
	reference Reference

	mu      sync.Mutex
	tallies []Tally
	played  int
	skipped []error
}

func (b *box) can(what string) bool { return slices.Contains(b.hello.Can, what) }

// open asks the driver what it is, and starts the servers, with clocks of their own if they
// need them.
func open(ctx context.Context, o Options, clocks bool) (b *box, err error) {
	o.TTL, o.Parallel, o.startLimit = cmp.Or(o.TTL, 1500*time.Millisecond), cmp.Or(o.Parallel, 4), cmp.Or(o.startLimit, startLimit)
	if err := o.validate(); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return nil, fmt.Errorf("%w: the driver: %w", ErrOptions, err)
	}
	b = &box{options: o}
	if err := b.greet(ctx); err != nil {
		return nil, err
	}
	if b.options.Servers == 0 {
		b.options.Servers = map[string]int{driver.OneServer: 1, driver.ManyServers: 5}[b.hello.Servers]
	}
	if b.hello.Servers == driver.OneServer && b.options.Servers != 1 {
		return nil, fmt.Errorf("%w: %d servers, but %s takes one", ErrOptions, b.options.Servers, b.hello.Name)
	}
	b.reference = referenceFor(b.options.Servers)
	b.fleets = make(chan *Fleet, o.Parallel)
	if clocks {
		if b.clocks, err = newClocks(ctx, o); err != nil {
			return nil, err
		}
	}
	for range o.Parallel {
		f, err := startFleet(ctx, b.options, b.clocks)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.fleets <- f
	}
	return b, nil
}

// greet asks the driver what it is.
func (b *box) greet(ctx context.Context) error {
	d, err := startDriver("c1", b.options)
	if err != nil {
		return err
	}
	defer d.end()
	a, err := d.start(ctx, driver.Request{Do: driver.DoHello})
	if err != nil {
		return err
	}
	b.hello = a.Hello
	if err := b.hello.Validate(); err != nil {
		return d.did("%v", err)
	}
	return nil
}

func (b *box) close() error {
	var errs []error
	for len(b.fleets) > 0 {
		errs = append(errs, (<-b.fleets).Close())
	}
	return errors.Join(append(errs, b.clocks.close())...)
}

// Run puts a client through the cases, and then through random schedules. Findings are in the
// Report and are not errors.
//
// The error Is ErrOptions, or redisproc.ErrMissing if there is no server program, or that of
// ctx, or As a *DriverError. Then the Report has what was played before. Run leaves no process
// and no file behind.
func Run(ctx context.Context, o Options) (report Report, err error) {
	began := time.Now()
	b, err := open(ctx, o, len(o.Faults) == 0 || slices.Contains(o.Faults, clockFault))
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	report = b.report()
	defer func() { b.conclude(&report, began) }()
	cases := slices.DeleteFunc(Cases(b.options.Servers), func(c Case) bool { return !slices.Contains(b.faults(), c.Fault) })
	b.say("accepted: %s; %d schedules, then random ones for %v", report.subject(), len(cases), b.options.For)
	if err := b.playAll(ctx, slices.Values(cases)); err != nil {
		return report, err
	}
	if b.options.For > 0 {
		b.say("random schedules for %v", b.options.For)
		limited, cancel := context.WithTimeoutCause(ctx, b.options.For, errTimeUp)
		defer cancel()
		if err := b.playAll(limited, b.random()); err != nil && !errors.Is(err, errTimeUp) {
			return report, err
		}
	}
	return report, b.shrinks(ctx)
}

// errTimeUp ends the random schedules.
var errTimeUp = errors.New("box: time is up")

func (b *box) say(format string, args ...any) {
	if b.options.Say != nil {
		b.options.Say(fmt.Sprintf(format, args...), false)
	}
}

// faults are those that are played.
func (b *box) faults() []string {
	return slices.DeleteFunc(Faults(), func(fault string) bool {
		return len(b.options.Faults) > 0 && !slices.Contains(b.options.Faults, fault) ||
			b.options.Embedded && slices.Contains(ofProcesses, fault) || b.clocks.none != nil && fault == clockFault ||
			serversFor(fault, b.options.Servers) == 0
	})
}

// random yields random schedules without an end, with each fault in turn.
func (b *box) random() iter.Seq[Case] {
	return func(yield func(Case) bool) {
		faults := b.faults()
		for n := uint64(0); len(faults) > 0; n++ {
			fault := faults[n%uint64(len(faults))]
			seed := rand.NewPCG(b.options.Seed, n).Uint64()
			count := serversFor(fault, b.options.Servers)
			if !yield(Case{Fault: fault, Title: fmt.Sprintf("random schedule %d", n), Schedule: draw(seed, fault, count), Servers: count}) {
				return
			}
		}
	}
}

// playAll plays cases, several at once, until one fails or ctx ends.
func (b *box) playAll(ctx context.Context, cases iter.Seq[Case]) error {
	all, running := errgroup.WithContext(ctx)
	all.SetLimit(b.options.Parallel)
	for c := range cases {
		if running.Err() != nil {
			break
		}
		all.Go(func() error {
			p, err := b.settle(running, c)
			return b.took(c, p, err)
		})
	}
	return cmp.Or(all.Wait(), context.Cause(ctx))
}

// retries is how often a schedule is played again, each time with twice the TTL, if the machine may have been too slow
// for it.
const retries = 2

// settle plays a case, again if the play is doubtful.
func (b *box) settle(ctx context.Context, c Case) (p Play, err error) {
	ttl := b.options.TTL
	for range 1 + retries {
		if p, err = b.plays(ctx, c.Schedule, ttl, c.Servers); err != nil || !p.doubtful() {
			break
		}
		ttl *= 2
	}
	return p, err
}

// plays plays a schedule once, on the first n servers of a Fleet.
func (b *box) plays(ctx context.Context, schedule Schedule, ttl time.Duration, n int) (p Play, err error) {
	var f *Fleet
	select {
	case f = <-b.fleets:
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
	defer func() {
		err = errors.Join(err, f.heal(context.WithoutCancel(ctx)))
		b.fleets <- f
	}()
	s := &stage{
		ctx: ctx, options: b.options, hello: b.hello, Fleet: f, servers: f.servers[:n], resource: resource{writesAlone: b.options.WritesAlone},
		play: &Play{Schedule: schedule, TTL: ttl, Servers: n, Struck: map[verb]bool{}},
	}
	return s.perform()
}

// took counts a play, or that it was skipped. It returns the error that ends the run: that of a skipped
// play only if no play comes about.
func (b *box) took(c Case, p Play, err error) error {
	skipped := errors.As(err, &skippedError{})
	if err != nil && !skipped {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.tallies, func(t Tally) bool { return t.Fault == c.Fault })
	if i < 0 {
		i = len(b.tallies)
		b.tallies = append(b.tallies, Tally{Fault: c.Fault})
	}
	t := &b.tallies[i]
	if skipped {
		t.Skipped++
		if b.skipped = append(b.skipped, err); b.played == 0 && len(b.skipped) >= b.options.Parallel {
			return err
		}
		return nil
	}
	t.count(c, p)
	if b.played++; b.options.Say != nil {
		b.options.Say(fmt.Sprintf("%d plays, %s: %d of %d with findings", b.played, t.Fault, t.Broke, t.Plays), true)
	}
	return nil
}

// conclude puts the results into a report: in each fault what only this client shows, the worst first.
func (b *box) conclude(r *Report, began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Tallies, r.Took = byFault(b.tallies), time.Since(began)
	for t, k := range found(r.Tallies) {
		k.Limit = r.Reference.shows(t.Fault, k.Kind)
		k.Allowed = b.options.allows(t.Fault, k.Kind, k.Limit)
	}
	for _, t := range r.Tallies {
		slices.SortFunc(t.Kinds, func(a, b Broken) int { return a.rank() - b.rank() })
	}
	if len(b.skipped) > 0 {
		r.WhySkipped = b.skipped[0].Error()
	}
}

// report returns a report without results.
func (b *box) report() Report {
	f := <-b.fleets
	b.fleets <- f
	r := Report{Name: b.hello.Name, Version: b.hello.Version, Can: b.hello.Can, Servers: f.product, Count: b.options.Servers, TTL: b.options.TTL, Reference: b.reference}
	leave := func(out bool, what string) {
		if out {
			r.LeftOut = append(r.LeftOut, what)
		}
	}
	for _, fault := range b.options.Faults {
		if !slices.Contains(b.faults(), fault) {
			r.missing = append(r.missing, fault)
		}
	}
	leave(b.options.Embedded, "what embedded servers don't have: "+strings.Join(ofProcesses, ", "))
	leave(b.clocks.none != nil, clockFault+", because of "+b.clocks.why())
	leave(!b.can(driver.CanExtend), "extensions, which the driver doesn't have")
	leave(!b.can(driver.CanToken), "fencing tokens, which the driver doesn't have")
	leave(!b.can(driver.CanTell), "whether a loss is told, which the driver doesn't do")
	return r
}
