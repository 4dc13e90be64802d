//go:build unix

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// box is the state of a Run, and what it has found so far.
type box struct {
	options Options
	hello   driver.Hello
	given   Schedule // that of the options
	fleets  chan *Fleet
	clocks  clocks

	mu     sync.Mutex
	report Report
}

// open asks the driver what it is, and starts the servers, with clocks of their own where that is possible.
func open(ctx context.Context, o Options) (b *box, err error) {
	o.TTL, o.Parallel = cmp.Or(o.TTL, 1500*time.Millisecond), cmp.Or(o.Parallel, 4)
	if o.Say == nil {
		o.Say = func(string, bool) {}
	}
	o.startLimit, o.firstLimit = cmp.Or(o.startLimit, startLimit), cmp.Or(o.firstLimit, startLimit)
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
	if o.Schedule != "" {
		b.given, err = ParseSchedule(o.Schedule, b.options.Servers)
		if err == nil && len(b.given) == 0 {
			err = fmt.Errorf("the schedule %q has no step for so few servers", o.Schedule)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	b.fleets = make(chan *Fleet, o.Parallel)
	if b.clocks, err = newClocks(ctx, o); err != nil {
		return nil, err
	}
	if b.clocks.none != nil && slices.Contains(o.Args, "--appendonly") {
		return nil, b.clocks.none // no disk would lose what was not synced
	}
	for range o.Parallel {
		f, err := startFleet(ctx, b.options, b.clocks)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.report.Servers = f.product
		b.fleets <- f
	}
	b.announce()
	return b, nil
}

// announce begins the report.
func (b *box) announce() {
	r := &b.report
	r.Name, r.Version, r.Count, r.TTL = b.hello.Name, b.hello.Version, b.options.Servers, b.options.TTL
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
	leave(!b.hello.Has(driver.CanExtend), "extensions, which the driver doesn't have")
	leave(!b.hello.Has(driver.CanToken), "fencing tokens, which the driver doesn't have")
	leave(!b.hello.Has(driver.CanTell), "whether the client tells of a loss: the driver doesn't say that it can")
}

// greet asks the driver what it is.
func (b *box) greet(ctx context.Context) error {
	d, err := startDriver("c1", b.options.Command, b.options.startLimit)
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

// errTimeUp ends what has a limit.
var errTimeUp = errors.New("box: time is up")

func (b *box) say(format string, args ...any) { b.options.Say(fmt.Sprintf(format, args...), false) }

// faults are those that are played.
func (b *box) faults() []string {
	return slices.DeleteFunc(Faults(), func(fault string) bool {
		return len(b.options.Faults) > 0 && !slices.Contains(b.options.Faults, fault) ||
			b.options.Embedded && slices.Contains(ofProcesses, fault) || b.clocks.none != nil && fault == clockFault ||
			serversFor(fault, b.options.Servers) == 0
	})
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
		err = cmp.Or(f.heal(context.WithoutCancel(ctx)), err) // that it was skipped is no excuse for servers that don't heal
		b.fleets <- f
	}()
	s := &stage{
		ctx: ctx, options: b.options, hello: b.hello, Fleet: f, servers: f.servers[:n], resource: resource{writesAlone: b.options.WritesAlone},
		play: &Play{Schedule: schedule, TTL: ttl, Servers: n, Struck: map[verb]bool{}},
	}
	return s.perform()
}
