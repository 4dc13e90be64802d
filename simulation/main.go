package simulation

import (
	"context"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// start lets a process begin now.
func (p *process) start(work Workload) {
	w := p.w
	p.Push(w.Now.Load(), kernel.Draw(w.Seed, kernel.TagTie, uint64(p.Index)), p.Gone, func() {
		w.event(record.Started, p.Name, "")
		w.Awake = true
		go p.main(work)
	})
}

// main is the process's own goroutine.
func (p *process) main(work Workload) {
	defer p.end()
	client := p.newClient(0, nil, nil)
	defer func() {
		if client.Locker == nil {
			return
		}
		p.workers.Wait()
		client.await()
		if err := client.Locker.Close(p.ctx); err != nil && !p.Dead.Load() {
			p.panicked(err.Error())
		}
	}()
	defer p.recovered()
	locks := Library
	if p.w.cfg.Locker != nil {
		locks = p.w.cfg.Locker
	}
	locker, err := locks(p.parts())
	if err != nil {
		p.panicked(err.Error())
		return
	}
	client.Locker = locker
	if on, ok := locker.(Coordinated); ok {
		client.Coordinator = on.Coordinator()
		p.coordinator.Store(client.Coordinator)
	}
	work(client)
}

// parts returns the Process for the Locker.
func (p *process) parts() Process {
	cfg := p.w.cfg.Quorum
	cfg.Lab.Clock = &p.Process
	cfg.Lab.Random = kernel.NewRandom(p.w.Seed, uint64(p.Index)|uint64(p.incarnation)<<32)
	cfg.Owner = p.Name
	cfg.Hooks = p.hooks()
	parts := Process{Name: p.Name, Index: p.Index, Config: cfg}
	for i := range p.w.servers {
		parts.Instances = append(parts.Instances, instance{p: p, place: i})
		parts.Redis = append(parts.Redis, instance{p: p, place: i})
	}
	return parts
}

// hooks report to the checks and the counters what the library does on its own.
func (p *process) hooks() quorum.Hooks {
	tell := func(what string) {
		p.Tell(kernel.OpOrder{Kind: kernel.IsReport, Key: what}, func() { p.w.count(what) })
	}
	return quorum.Hooks{
		Waiting: func(context.Context, quorum.WaitEvent) {}, // the log has it as Quarantined events
		Extended: func(_ context.Context, e quorum.LeaseEvent) {
			for _, key := range append([]string{e.Key}, e.Also...) {
				p.extended(key, e.Token, e.Validity)
			}
		},
		Quarantined: func(e quorum.QuarantineEvent) {
			p.Tell(kernel.OpOrder{Kind: kernel.IsReport, N: uint64(e.Err.Reason), Key: e.Instance}, func() {
				p.w.count("a quarantine began: " + e.Err.Reason.String())
				p.w.event(record.Quarantined, p.Name, e.Instance).Validity = e.Err.Remaining
			})
		},
		ClockJumped: func(quorum.ClockEvent) { tell("a clock was seen to jump") },
		Unprotected: func(e quorum.UnprotectedEvent) {
			if e.Eviction == "" {
				tell("a server hid its run id")
			}
		},
	}
}

// reboot restarts the process after a while, with a new Coordinator and the machine's
// clocks.
func (p *process) reboot(after int64) {
	if p.Gone() {
		return
	}
	p.crash()
	w := p.w
	w.reboots++
	w.Ahead(w.Now.Load()+after, nil, func() {
		w.reboots--
		next := newProcess(w, p.Index, p.Name, p)
		w.processes[p.Index] = next
		next.start(w.work)
	})
}
