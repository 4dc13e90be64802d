package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/simulation"
)

// TestedWorkloads are all workloads, also those that only tests play.
func TestedWorkloads() []Workload {
	return append(Workloads(), termsWorkload(), slotsWorkload(), booksWorkload())
}

// termsWorkload is for elections: two or three candidates, each of which leads for a while,
// updates the resource, and resigns, ends its campaign or goes on until its term is over. Some
// leaders are slow to return.
func termsWorkload() Workload {
	return Workload{
		Name: "terms", Title: "two or three candidates of an election, which update the resource while they lead",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{TTL: 4 * time.Second},
		},
		Span: 12 * time.Second,
		Work: func(simulation.Config) simulation.Workload { return terms },
	}
}

// What a candidate draws for each round.
const (
	termsStart = iota
	termsThinks
	termsWork
	termsEnd
	termsSlow
	termings
)

func terms(c *simulation.Client) {
	if !joins(c, termings*1000) {
		return
	}
	e, err := election.New(c.Coordinator, "k", election.Config{})
	if err != nil {
		panic(err)
	}
	c.Locker = candidate{Locker: c.Locker, e: e, locks: c.Coordinator}
	for round := range 3 {
		d := draws{c, round * termings}
		c.Sleep(d.ms(termsStart, 400))
		lease, err := c.Acquire("k")
		if err != nil {
			continue
		}
		thinks := d.some(termsThinks, 300, 600)
		update(c, lease, thinks)
		c.Sleep(d.ms(termsWork, 5000))
		update(c, lease, thinks)
		if d.pick(termsEnd, 2) == 0 {
			_ = e.Resign() // it may not lead any more
			c.Sleep(d.some(termsSlow, 500, 1500))
			update(c, lease, 0) // it has stopped
		}
		_ = c.Release(lease) // the log has its outcome
	}
}

// candidate is an election as a Locker: to acquire is to campaign until the candidate leads.
type candidate struct {
	simulation.Locker
	e     *election.Election
	locks *quorum.Coordinator
}

func (l candidate) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	ctx, end := context.WithCancel(ctx)
	t := &leaderTerm{key: key, began: make(chan struct{}), returns: make(chan struct{}), end: end, ended: make(chan error, 1)}
	go func() {
		t.ended <- l.e.Run(ctx, func(ctx context.Context, number fencing.Token) error {
			t.ctx, t.number = ctx, number
			close(t.began)
			// The workload stands for this function. It returns when the workload releases.
			select {
			case <-t.returns:
			case <-l.locks.Config().Lab.Clock.After(time.Minute): // the process has crashed
			}
			end() // one term is enough
			return nil
		})
	}()
	select {
	case <-t.began:
		return t, nil
	case err := <-t.ended:
		end()
		return nil, err
	case <-l.locks.Config().Lab.Clock.After(15 * time.Second):
	}
	end()
	select {
	case <-t.began: // at the same moment
		return t, nil
	case err := <-t.ended:
		return nil, err
	}
}

// leaderTerm is a term as a Lease.
type leaderTerm struct {
	key            string
	ctx            context.Context
	number         fencing.Token
	began, returns chan struct{}
	end            context.CancelFunc
	ended          chan error
}

func (t *leaderTerm) Key() string                  { return t.key }
func (t *leaderTerm) Value() string                { return "" }
func (t *leaderTerm) Token() fencing.Token         { return t.number }
func (t *leaderTerm) Quorum() int                  { return 0 } // nobody is told its validity
func (t *leaderTerm) Extend(context.Context) error { return nil }

// Validity is a moment as long as the context lasts: a leader knows no more.
func (t *leaderTerm) Validity() time.Duration {
	if t.ctx.Err() != nil {
		return 0
	}
	return time.Millisecond
}

func (t *leaderTerm) Release(context.Context) error {
	close(t.returns)
	err := <-t.ended
	if all, ok := err.(interface{ Unwrap() []error }); ok { // without that its context has ended, which the function has done
		err = errors.Join(slices.DeleteFunc(slices.Clone(all.Unwrap()), func(err error) bool { return errors.Is(err, quorum.ErrInterrupted) })...)
	}
	return err
}
