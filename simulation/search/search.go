package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Options says which part of a Space is searched, and by whom.
type Options struct {
	// From and To are the numbers of the first Setup and of that after the last.
	// A To beyond the end means the end.
	From, To uint64
	// Workers is how many worker processes play, 0: none, this one does. What is
	// found doesn't depend on it.
	Workers int
	// Command makes the command of a worker process, which must call Serve with a
	// Registry like this one. Needed if there are workers.
	Command func() *exec.Cmd
	// Progress, if set, is told how far the search is, after each range that has
	// been played. Calls don't overlap.
	Progress func(Batch)
	// Patience is how long one run may take, in real time, before its worker counts
	// as dead. Default 1 min.
	Patience time.Duration
}

// Report is what a search found.
type Report struct {
	// Batch covers the Setups from Options.From on, without a gap, up to its To.
	Batch
	// Deaths is the Setups that killed their worker process twice, by number. They don't
	// count as runs.
	Deaths []Death
	// Ended says that everything that was asked for was played.
	Ended bool
}

// Death is a Setup that killed its worker process twice.
type Death struct {
	Number uint64
	Setup  Setup
	// How is the process's end, and the beginning and the end of what it wrote to
	// its standard error.
	How string
}

// chunk is how many Setups are given to a worker at a time. What is found doesn't
// depend on it; an interruption loses less than one chunk of each worker.
const chunk = 32

// Search plays the Setups of a Space. When ctx ends, it stops and reports the findings so
// far, without an error.
//
// Errors are ErrSetup, or that of a worker that couldn't be started.
func Search(ctx context.Context, r Registry, space Space, o Options) (Report, error) {
	c, err := r.open(space)
	if err != nil {
		return Report{}, err
	}
	o.To = min(o.To, c.n)
	switch {
	case o.From > o.To:
		return Report{}, fmt.Errorf("%w: from %d to %d: there is nothing between them", ErrSetup, o.From, o.To)
	case o.Workers < 0 || o.Workers > 1024:
		return Report{}, fmt.Errorf("%w: %d workers, want 0 to 1024", ErrSetup, o.Workers)
	case o.Workers > 0 && o.Command == nil:
		return Report{}, fmt.Errorf("%w: workers without a Command that starts one", ErrSetup)
	}
	if o.Patience <= 0 {
		o.Patience = patience
	}
	s := &search{cases: c, options: o, next: o.From, done: map[uint64]played{}}
	s.report.From, s.report.To = o.From, o.From
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	var all sync.WaitGroup
	for range max(1, o.Workers) {
		all.Go(func() { s.work(ctx) })
	}
	all.Wait()
	s.report.Ended = s.report.To == o.To && s.err == nil
	return s.report, s.err
}

// search is one search on its way.
type search struct {
	cases   *cases
	options Options
	stop    context.CancelFunc

	mu     sync.Mutex
	next   uint64            // the first Setup that nobody has been given
	done   map[uint64]played // by From: what was played, but something before it wasn't yet
	report Report
	err    error
}

// played is what came of one range.
type played struct {
	batch  Batch
	deaths []Death
}

// take gives out the next range.
func (s *search) take(ctx context.Context) (order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || s.next >= s.options.To {
		return order{}, false
	}
	o := order{From: s.next, To: s.next + min(chunk, s.options.To-s.next)}
	s.next = o.To
	return o, true
}

// give adds the result of a range, and merges consecutive ranges.
func (s *search) give(o order, p played) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[o.From] = p
	for {
		p, ok := s.done[s.report.To]
		if !ok {
			return
		}
		delete(s.done, s.report.To)
		s.report.merge(p.batch)
		s.report.Deaths = append(s.report.Deaths, p.deaths...)
		if s.options.Progress != nil {
			progress := s.report.Batch
			progress.Findings, progress.Hits, progress.Counts = slices.Clone(progress.Findings), nil, nil // these still change
			s.options.Progress(progress)
		}
	}
}

func (s *search) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.stop()
}

// work is one worker's life, seen from here. A worker that dies is followed by
// another.
func (s *search) work(ctx context.Context) {
	var p player
	defer func() {
		if p != nil {
			p.close()
		}
	}()
	for {
		o, ok := s.take(ctx)
		if !ok {
			return
		}
		whole, err := s.playAll(ctx, &p, o)
		switch {
		case err == nil && whole.batch.To == o.To:
			s.give(o, whole)
		case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
			return // what it has of the range would leave a gap
		default:
			s.fail(err)
			return
		}
	}
}

// playAll plays a range. If a worker dies, another worker repeats its Setup, because the
// first one may have been killed from outside. Only if the second dies too, the Setup is
// reported as a death, and the rest of the range is played without it.
func (s *search) playAll(ctx context.Context, p *player, o order) (played, error) {
	whole := played{batch: Batch{From: o.From, To: o.From}}
	suspect := map[uint64]bool{} // Setups that may have killed a worker
	idle := 0                    // workers in a row that died before they played anything
	for rest := []order{o}; len(rest) > 0; {
		if *p == nil {
			started, err := s.start()
			if err != nil {
				return whole, err
			}
			*p = started
		}
		part := rest[0]
		b, err := (*p).play(ctx, part)
		if d, dead := asDeath(err); dead {
			*p = nil // it has ended
			switch {
			case ctx.Err() != nil: // whoever interrupts may kill workers, too
				return whole, ctx.Err()
			case !d.began && idle > 0:
				return whole, fmt.Errorf("search: a worker process ended before it played anything: %w", d)
			case !d.began:
				idle++
			case suspect[d.number]:
				setup, _ := s.cases.at(d.number)
				whole.deaths = append(whole.deaths, Death{Number: d.number, Setup: setup, How: d.Error()})
				rest = slices.Concat(split(part, d.number), rest[1:])
			default:
				suspect[d.number] = true
			}
			continue
		}
		if err != nil {
			return whole, err
		}
		idle = 0
		whole.batch.merge(b)
		rest = rest[1:]
		if b.To != part.To {
			return whole, ctx.Err()
		}
	}
	whole.batch.To = o.To // the last one may have died
	slices.SortFunc(whole.deaths, func(a, b Death) int { return cmp.Compare(a.Number, b.Number) })
	return whole, nil
}

// split is a range without one Setup.
func split(o order, without uint64) []order {
	parts := []order{{From: o.From, To: without}, {From: without + 1, To: o.To}}
	return slices.DeleteFunc(parts, func(p order) bool { return p.From >= p.To })
}

func (s *search) start() (player, error) {
	if s.options.Workers == 0 {
		return here{cases: s.cases}, nil
	}
	return startAway(s.options.Command(), s.cases.space, s.options.Patience)
}
