package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Overload is the effect on kept leases and on new locks of more requests than the servers can
// handle.
type Overload struct {
	Leases  int     `json:"leases"`
	TTL     float64 `json:"ttl_seconds"`
	Seconds float64 `json:"seconds"`

	Capacity float64 `json:"capacity_per_second"` // of cycles without overload
	Offered  float64 `json:"offered_per_second"`
	Won      float64 `json:"won_per_second"`

	Lost             int     `json:"leases_lost"`
	Extensions       int     `json:"extensions"`
	ExtensionsFailed int     `json:"extensions_failed"` // and repeated
	ExtendP50        float64 `json:"extend_p50_ms"`
	ExtendP99        float64 `json:"extend_p99_ms"`
	ExtendWorst      float64 `json:"extend_worst_ms"`

	Tried      int     `json:"tried"`       // by TryAcquire
	Overloaded int     `json:"overloaded"`  // of these: refused before any server was asked
	Failed     int     `json:"failed"`      // of these: lost for another reason
	Waiters    int     `json:"waiters"`     // by Acquire, with a bound on the wait
	GaveUp     int     `json:"gave_up"`     // of these: not served in time
	WaitP50    float64 `json:"wait_p50_ms"` // of those that were served
	WaitP99    float64 `json:"wait_p99_ms"`
}

// overloadCase is what is measured.
type overloadCase struct {
	leases   int
	ttl      time.Duration
	warm     time.Duration // to measure the capacity
	long     time.Duration // of the overload
	times    float64       // the requests, relative to the capacity
	waiters  int           // one of so many waits
	patience time.Duration // for so long
}

// measuredOverload measures the full case, which takes two TTLs, or a quick one.
func measuredOverload(m measurement, results *Results) error {
	c := overloadCase{leases: 10_000, ttl: 30 * time.Second, warm: 5 * time.Second, long: time.Minute, times: 4, waiters: 16, patience: 2 * time.Second}
	if m.options.quick {
		c.leases, c.ttl, c.warm, c.long = 1000, 5*time.Second, time.Second, 10*time.Second
	}
	one, err := measureOverload(m.ctx, c, m.progress)
	results.Overload = &one
	return err
}

// overloadRun collects the results of a run.
type overloadRun struct {
	lost, extensionsFailed  atomic.Int64
	won, overloaded, failed atomic.Int64
	tried, waiters, gaveUp  atomic.Int64
	measuring               atomic.Bool
	mu                      sync.Mutex
	extensions, waits       []time.Duration
	locks                   *quorum.Coordinator
	patient                 *quorum.Coordinator
}

func measureOverload(ctx context.Context, c overloadCase, progress func(string)) (Overload, error) {
	result := Overload{Leases: c.leases, TTL: c.ttl.Seconds(), Seconds: c.long.Seconds()}
	f, err := startFleet(ctx, 5)
	if err != nil {
		return result, err
	}
	defer func() { _ = f.Close() }()
	urls := make([]string, len(f))
	for i, addr := range f.addrs() {
		urls[i] = "redis://" + addr
	}
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
	if err != nil {
		return result, err
	}
	defer func() { _ = group.Close() }()
	run := &overloadRun{}
	if run.locks, err = quorum.New(run.config(c), group.Instances()...); err != nil {
		return result, err
	}
	defer func() { _ = run.locks.Close(context.WithoutCancel(ctx)) }()
	if run.patient, err = run.locks.WithTerms(func(t *quorum.Terms) { t.TTL, t.MaxWait = c.ttl, c.patience }); err != nil {
		return result, err
	}
	// The servers are new, and nothing was ever locked on them.
	if err := run.locks.Trust(ctx); err != nil {
		return result, err
	}

	progress(fmt.Sprintf("overload: acquiring %d leases", c.leases))
	if err := run.hold(ctx, c.leases); err != nil {
		return result, err
	}
	progress("overload: measuring the capacity")
	result.Capacity = run.capacity(ctx, c.warm)
	perSecond := c.times * result.Capacity
	progress(fmt.Sprintf("overload: the capacity is %.0f locks a second; asking for %.0f for %v", result.Capacity, perSecond, c.long))
	run.won.Store(0)
	run.measuring.Store(true)
	took := run.offer(ctx, c, perSecond)
	run.measuring.Store(false)

	run.mu.Lock()
	defer run.mu.Unlock()
	slices.Sort(run.extensions)
	slices.Sort(run.waits)
	result.Won = float64(run.won.Load()) / took.Seconds()
	result.Offered = float64(run.tried.Load()+run.waiters.Load()) / took.Seconds()
	result.Lost = int(run.lost.Load())
	result.Extensions, result.ExtensionsFailed = len(run.extensions), int(run.extensionsFailed.Load())
	result.ExtendP50, result.ExtendP99 = stats.Millis(stats.Quantile(run.extensions, 0.5)), stats.Millis(stats.Quantile(run.extensions, 0.99))
	result.ExtendWorst = stats.Millis(stats.Quantile(run.extensions, 1))
	result.Tried, result.Overloaded, result.Failed = int(run.tried.Load()), int(run.overloaded.Load()), int(run.failed.Load())
	result.Waiters, result.GaveUp = int(run.waiters.Load()), int(run.gaveUp.Load())
	result.WaitP50, result.WaitP99 = stats.Millis(stats.Quantile(run.waits, 0.5)), stats.Millis(stats.Quantile(run.waits, 0.99))
	return result, ctx.Err()
}

func (r *overloadRun) config(c overloadCase) quorum.Config {
	cfg := quorum.Config{Terms: quorum.Terms{TTL: c.ttl}, MaxTTL: c.ttl}
	cfg.Hooks.Lost = func(quorum.LeaseEvent) { r.lost.Add(1) }
	cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
		if e.Op != wire.Extend || !r.measuring.Load() {
			return
		}
		if e.Err != nil {
			r.extensionsFailed.Add(1)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.extensions = append(r.extensions, e.Took)
	}
	return cfg
}

// hold acquires leases and keeps them alive. They end with the Coordinator.
func (r *overloadRun) hold(ctx context.Context, n int) error {
	const workers = 64
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				lease, err := r.locks.Acquire(ctx, fmt.Sprint("held-", i))
				if err == nil {
					lease.KeepAlive()
				}
				errs[w] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// capacity returns the cycles per second of enough workers to keep the servers busy.
func (r *overloadRun) capacity(ctx context.Context, long time.Duration) float64 {
	var all sync.WaitGroup
	began := time.Now()
	for w := range 256 {
		all.Go(func() {
			key := fmt.Sprint("worker-", w)
			for time.Since(began) < long && ctx.Err() == nil {
				if lease, err := r.locks.Acquire(ctx, key); err == nil {
					_ = lease.Release(ctx) // undelivered deletes stay pending
					r.won.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(r.won.Load()) / time.Since(began).Seconds()
}

// offer sends requests at a rate, whatever happens to earlier ones, each with a key of its own.
// It drops requests that it is late for: bursts would measure this program.
func (r *overloadRun) offer(ctx context.Context, c overloadCase, perSecond float64) time.Duration {
	const most = 5 * time.Millisecond
	var all sync.WaitGroup
	began := time.Now()
	due, n := 0.0, 0
	for last := began; time.Since(began) < c.long && ctx.Err() == nil; {
		now := time.Now()
		due += min(now.Sub(last), most).Seconds() * perSecond
		last = now
		for ; due >= 1; due-- {
			key, wait := fmt.Sprint("wanted-", n), n%c.waiters == 0
			n++
			all.Go(func() { r.ask(ctx, key, wait) })
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	all.Wait()
	return took
}

func (r *overloadRun) ask(ctx context.Context, key string, wait bool) {
	began := time.Now()
	var lease *quorum.Lease
	var err error
	if wait {
		r.waiters.Add(1)
		lease, err = r.patient.Acquire(ctx, key)
	} else {
		r.tried.Add(1)
		lease, err = r.locks.TryAcquire(ctx, key)
	}
	switch {
	case err == nil:
		_ = lease.Release(ctx)
		r.won.Add(1)
		if wait {
			r.mu.Lock()
			r.waits = append(r.waits, time.Since(began))
			r.mu.Unlock()
		}
	case wait:
		r.gaveUp.Add(1)
	case errors.Is(err, quorum.ErrOverloaded):
		r.overloaded.Add(1)
	default:
		r.failed.Add(1)
	}
}
