package simulation

import (
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

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
	locker, err := p.w.cfg.newLocker(p.parts(client.hooks()))
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
func (p *process) parts(hooks quorum.Hooks) Process {
	cfg := p.w.cfg.Quorum
	cfg.Clock = p.Clock
	cfg.Random = kernel.NewRandom(p.w.Seed, uint64(p.Index)|uint64(p.incarnation)<<32)
	cfg.Owner = p.Name
	cfg.Hooks = hooks
	parts := Process{Name: p.Name, Index: p.Index, Config: cfg}
	for i := range p.w.places {
		parts.Instances = append(parts.Instances, instance{p: p, place: i})
		parts.Redis = append(parts.Redis, redisConn{p: p, place: i})
	}
	return parts
}

// newLocker creates a process's Locker as the Config says.
func (c Config) newLocker(p Process) (Locker, error) {
	if c.Locker != nil {
		return c.Locker(p)
	}
	coordinator, err := quorum.New(p.Config, p.Instances...)
	if err != nil {
		return nil, err
	}
	return Library(coordinator), nil
}

// quarantined records the beginning of a quarantine.
func (p *process) quarantined(e quorum.QuarantineEvent) {
	p.Tell(kernel.OpOrder{Kind: kernel.IsReport, N: uint64(e.Err.Reason), Key: e.Instance}, func() {
		w := p.w
		w.count(map[quorum.QuarantineReason]string{quorum.Restarted: quarantineRestarted, quorum.ClockJumped: quarantineJumped}[e.Err.Reason])
		w.event(record.Quarantined, p.Name, e.Instance).Validity = e.Err.Remaining
	})
}
