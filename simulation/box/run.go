//go:build unix

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/simulation/internal/shorten"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Run puts a client through the cases, and then through random schedules; or through the options' schedule. Findings
// are in the Report and are not errors.
//
// The error Is ErrOptions, or redisproc.ErrMissing if there is no server program, or that of
// ctx, or As a DriverError. Then the Report has what was played before. Run leaves no process
// and no file behind.
func Run(ctx context.Context, o Options) (report Report, err error) {
	began := time.Now()
	b, err := open(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		err = errors.Join(err, b.close())
		b.report.Took = time.Since(began)
		b.conclude()
		report = b.report
	}()
	cases := slices.DeleteFunc(b.cases(), func(c Case) bool { return !slices.Contains(b.faults(), c.Fault) })
	b.say("accepted: %s; %s", b.report.subject(), wrap.Count(len(cases), "schedule"))
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

// Once plays the options' schedule once, for a caller that looks into its Record. It has the errors of Run, and
// ErrNoClocks if the schedule needs clocks or disks of the servers' own, and they can have none.
func Once(ctx context.Context, o Options) (p Play, err error) {
	o.Parallel = 1
	b, err := open(ctx, o)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	return b.plays(ctx, b.given, b.options.TTL, b.options.Servers)
}

// again is how often Run plays the options' schedule.
const again = 10

// cases are what Run plays first.
func (b *box) cases() []Case {
	if b.given == nil {
		return Cases(b.options.Servers)
	}
	return slices.Repeat([]Case{{Fault: b.given.faultOf(""), Title: "the given schedule", Schedule: b.given, Servers: b.options.Servers}}, again)
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

// took counts a play, or that it was skipped. It returns the error that ends the run. The error of a skipped play ends
// it only if nothing has been played.
func (b *box) took(c Case, p Play, err error) error {
	skipped := errors.As(err, &skippedError{})
	if err != nil && !skipped {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.report.tally(c.Fault)
	if skipped {
		t.Skipped++
		b.report.WhySkipped = cmp.Or(b.report.WhySkipped, err.Error())
		if b.report.Played() == 0 && b.report.skipped() >= b.options.Parallel {
			return err
		}
		return nil
	}
	t.count(p)
	b.report.last = p
	for _, kind := range p.kinds() {
		b.report.found(c, p, kind)
	}
	b.options.Say(fmt.Sprintf("%d plays, %s", b.report.Played(), wrap.Count(len(b.report.Broken), "finding")), true)
	return nil
}

// conclude ends the report. It puts each finding under the fault that its schedule shows. That may differ from the
// fault that it was played for, whose steps may have been left out. If two findings of a kind then have one fault,
// the one that was repeated more often stays.
func (b *box) conclude() {
	for _, k := range b.report.Broken {
		if fault := k.Shown.Schedule.faultOf(k.Fault); fault != k.Fault {
			k.Fault, k.Plays = fault, 1 // the others may need their fault
		}
		t := b.report.tally(k.Fault) // it may have no play of its own
		if b.given != nil {
			k.Repeated, k.Again = k.Plays, t.Plays
		}
		k.Limit = isLimit(k.Fault, k.Kind)
		k.Allowed = b.options.allows(k.Fault, k.Kind, k.Limit)
	}
	slices.SortFunc(b.report.Broken, func(a, b *Broken) int {
		return cmp.Or(a.rank()-b.rank(), b.Repeated-a.Repeated, b.Plays-a.Plays)
	})
	b.report.Broken = slices.CompactFunc(b.report.Broken, func(a, b *Broken) bool { return a.rank() == b.rank() })
	slices.SortFunc(b.report.Tallies, func(a, b *Tally) int { return place(a.Fault) - place(b.Fault) })
}

// repeats is how often a finding's schedule is played again at the end, and repeatFor how long
// that may take.
const (
	repeats   = 3
	repeatFor = time.Minute
)

// shrinks makes the schedules of the client's own findings shorter, and plays those of all findings again. Plays get
// servers in turn, so that each is played once before any is played twice.
func (b *box) shrinks(ctx context.Context) error {
	if len(b.report.Broken) == 0 || b.options.ShrinkFor == 0 {
		return nil
	}
	b.say("%s: those of this client alone are made shorter for up to %v, and then all are played again for up to %v", wrap.Count(len(b.report.Broken), "finding"), b.options.ShrinkFor, repeatFor)
	for _, step := range []struct {
		most time.Duration
		do   func(context.Context, *Broken)
	}{{b.options.ShrinkFor, b.shrink}, {repeatFor, b.repeat}} {
		limited, cancel := context.WithTimeoutCause(ctx, step.most, errTimeUp)
		var running sync.WaitGroup
		for _, k := range b.report.Broken {
			running.Go(func() { step.do(limited, k) })
		}
		running.Wait()
		cancel()
	}
	return context.Cause(ctx)
}

// repeat plays a finding's schedule again.
func (b *box) repeat(ctx context.Context, k *Broken) {
	for range repeats {
		p, err := b.plays(ctx, k.Shown.Schedule, k.Shown.TTL, k.Shown.Servers)
		if err != nil {
			return
		}
		if k.Again++; p.shows(k.Kind) {
			k.Repeated++
		}
	}
}

// shrink makes the schedule of one of the client's own findings shorter. It leaves the faults out first: what is found
// without them is not their work.
func (b *box) shrink(ctx context.Context, k *Broken) {
	if ctx.Err() != nil || isLimit(k.Fault, k.Kind) {
		return
	}
	shows := func(schedule Schedule) bool {
		p, err := b.plays(ctx, schedule, k.Shown.TTL, k.Shown.Servers)
		if err != nil || !p.shows(k.Kind) {
			return false
		}
		k.Shown = p
		return true
	}
	if bare := k.Shown.Schedule.withoutFaults(); len(bare) < len(k.Shown.Schedule) {
		shows(bare)
	}
	if k.Kind != Slow && k.Kind != NoAnswer { // each play of these takes long
		shorten.List(k.Shown.Schedule, shows)
	}
}
