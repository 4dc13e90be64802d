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
	cfg.Lab.Clock = p.Clock
	cfg.Lab.Random = kernel.NewRandom(p.w.Seed, uint64(p.Index)|uint64(p.incarnation)<<32)
	cfg.Owner = p.Name
	cfg.Hooks = hooks
	parts := Process{Name: p.Name, Index: p.Index, Config: cfg}
	for i := range p.w.servers {
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
	return Library(p)
}

// reboot restarts the process after a while, with a new Coordinator and the machine's
// clocks.
func (p *process) reboot(after int64) {
	if p.Gone() {
		return
	}
	p.crash()
	p.w.reboots++
	p.w.Schedule(p.w.Now.Load()+after, p.nextIncarnation)
}

func (p *process) nextIncarnation() {
	w, next := p.w, newProcess(p.w, p.Index, p.Name)
	w.reboots--
	next.incarnation = p.incarnation + 1
	next.Continues(&p.Process)
	for i := range next.links {
		next.links[i].seq = p.links[i].seq // draws for calls depend on their numbers
	}
	w.processes[p.Index] = next
	w.count(processRebooted)
	w.start(next, w.work)
}

// start lets a process begin now.
func (w *world) start(p *process, work Workload) {
	w.Push(w.Now.Load(), kernel.Draw(w.Seed, kernel.TagTie, uint64(p.Index)), &p.Process, kernel.MomentOf(p.Gone, func() {
		w.event(record.Started, p.Name, "")
		w.Awake = true
		go p.main(work)
	}))
}
