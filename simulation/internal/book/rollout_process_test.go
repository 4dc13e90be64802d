package book_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// rolloutProcess is a client process over its restarts: it ends in an orderly way, and starts again
// with the next step's settings, when it next asks for a lock.
type rolloutProcess struct {
	r     rollout
	p     simulation.Process
	began time.Time

	step  int
	locks *quorum.Coordinator
}

func (r rollout) locker(p simulation.Process) (simulation.Locker, error) {
	process := &rolloutProcess{r: r, p: p, began: p.Config.Clock.Now()}
	return process, process.start()
}

// start opens the Coordinator with the settings of the current step.
func (p *rolloutProcess) start() (err error) {
	s := p.r.Steps[p.step]
	cfg := p.p.Config
	cfg.TTL, cfg.MaxTTL = cmp.Or(s.TTL, rolloutTTL), cmp.Or(s.MaxTTL, rolloutTTL)
	cfg.Quorum, cfg.Set = s.Quorum, quorum.Set{Name: "orders", Version: s.Version}
	if s.Change != nil {
		s.Change(&cfg)
	}
	var instances []wire.Instance
	for i, instance := range p.p.Instances {
		if strings.ContainsRune(cmp.Or(s.Servers, "ABCDE"), rune('A'+i)) {
			instances = append(instances, instance)
		}
	}
	p.locks, err = quorum.New(cfg, instances...)
	return err
}

// present returns the Coordinator, after a restart if one is due.
func (p *rolloutProcess) present(ctx context.Context) (*quorum.Coordinator, error) {
	next := p.step
	for next+1 < len(p.r.Steps) && p.p.Config.Clock.Since(p.began) >= p.r.begins(next+1, p.p.Index) {
		next++
	}
	if next == p.step {
		return p.locks, nil
	}
	if err := p.Close(ctx); err != nil {
		return nil, err
	}
	p.step = next
	return p.locks, p.start()
}

func (p *rolloutProcess) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	locks, err := p.present(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := locks.TryAcquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return &rolloutLease{lease, locks.Set().Q}, nil
}

func (p *rolloutProcess) Acquire(context.Context, string) (simulation.Lease, error) {
	return nil, errors.New("rollout: processes don't wait for locks")
}

func (p *rolloutProcess) Close(ctx context.Context) error {
	ctx, cancel := p.p.Config.Clock.WithTimeout(ctx, rolloutTTL)
	defer cancel()
	if err := p.locks.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// rolloutLease is a lease together with the quorum that it needs, for the simulation's checks.
type rolloutLease struct {
	*quorum.Lease
	quorum int
}

func (h *rolloutLease) Quorum() int { return h.quorum }
