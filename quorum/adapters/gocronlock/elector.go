package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
)

// Elector is a gocron.Elector, for gocron.WithDistributedElector. It is safe for concurrent use.
type Elector struct {
	election *election.Election

	mu   sync.Mutex
	term *term // while this process leads
}

// term is one term of this process, and the jobs that run in it.
type term struct {
	context.Context
	token fencing.Token
	jobs  sync.WaitGroup
}

// NewElector makes an Elector. Arguments and errors are those of election.New.
func NewElector(locks *quorum.Coordinator, name string, cfg election.Config) (*Elector, error) {
	e, err := election.New(locks, name, cfg)
	if err != nil {
		return nil, err
	}
	return &Elector{election: e}, nil
}

// Election is the election: for Leader and Resign.
func (e *Elector) Election() *election.Election { return e.election }

// Run campaigns until ctx ends. At the end of a term it waits for the jobs that Task has begun, and
// then lets another process lead. So shut gocron's scheduler down before ctx ends, or beside it.
//
// The errors are those of election.Election.Run: one that Is ctx's error when ctx has ended.
func (e *Elector) Run(ctx context.Context) error {
	return e.election.Run(ctx, func(ctx context.Context, token fencing.Token) error {
		t := &term{Context: ctx, token: token}
		e.lead(t)
		<-ctx.Done()
		e.lead(nil) // from here on no job is begun, so Wait sees all of them
		t.jobs.Wait()
		return nil
	})
}

func (e *Elector) lead(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// IsLeader returns nil if this process leads now, see election.Election.IsLeader.
func (e *Elector) IsLeader(ctx context.Context) error { return e.election.IsLeader(ctx) }

// Task makes a function for gocron.NewTask. It calls run with the number of the term in which it
// runs, which is a fencing token, and a context that ends with gocron's and with the term. The next
// leader's jobs begin after run has returned, unless it goes on after its context has ended.
//
// The function returns run's error. That also Is the reason if the term was over before run had
// ended (election.ErrTermOver, quorum.ErrLost and others, see election.Election.Run). It is
// election.ErrNotLeader, and run isn't called, if this process doesn't lead any more.
func (e *Elector) Task(run func(ctx context.Context, term fencing.Token) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		t, err := e.begin()
		if err != nil {
			return err
		}
		defer t.jobs.Done()
		both, end := context.WithCancelCause(t)
		defer end(nil)
		defer context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })()
		err = run(both, t.token)
		if t.Err() != nil {
			return errors.Join(err, context.Cause(t))
		}
		return err
	}
}

// begin counts a job of the present term.
func (e *Elector) begin() (*term, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil || e.term.Err() != nil {
		return nil, fmt.Errorf("gocronlock: the job isn't begun: %w", election.ErrNotLeader)
	}
	e.term.jobs.Add(1)
	return e.term, nil
}
