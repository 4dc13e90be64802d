package guardtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redlock/fencing"
)

// call is one call of a Guard in a concurrent history. Begin and end are
// readings of one counter: a call that ended before another began has the
// smaller number, so the two are ordered; otherwise they overlap.
type call struct {
	token      fencing.Token
	begin, end int64
	err        error
}

// Of concurrent: how many goroutines show tokens, and how many each of them shows.
const workers, calls = 8, 40

// concurrent lets goroutines show random tokens on one resource, each token by
// several of them, and checks the history.
func concurrent(t *testing.T, g fencing.Guard) {
	const spread = 60
	var (
		counter atomic.Int64
		wg      sync.WaitGroup
		history [workers][]call
	)
	for w := range workers {
		rnd := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for i := range calls {
				// Tokens rise slowly, so that both results stay frequent.
				c := call{token: fencing.Token(1 + i + rnd.IntN(spread))}
				v := verbs(g)[rnd.IntN(2)]
				c.begin = counter.Add(1)
				c.err = v.call(t.Context(), "concurrent", c.token)
				c.end = counter.Add(1)
				history[w] = append(history[w], c)
			}
		})
	}
	wg.Wait()
	var all []call
	for _, h := range history {
		all = append(all, h...)
	}
	if err := judge(all); err != nil {
		t.Fatal(err)
	}
	highest := fencing.Token(0)
	for _, c := range all {
		highest = max(highest, c.token)
	}
	for _, v := range verbs(g) {
		stale(t, v, "concurrent", highest-1, highest)
		pass(t, v, "concurrent", highest)
	}
}

// judge reports whether a mark that only rises explains the history.
func judge(all []call) error {
	for _, c := range all {
		var se *fencing.StaleError
		switch {
		case c.err == nil:
			// Invariant: no call passes after a larger token has passed.
			if p, ok := find(all, func(p call) bool { return p.end < c.begin && p.err == nil && p.token > c.token }); ok {
				return fmt.Errorf("the mark went back: %v had ended before %v began", p, c)
			}
		case errors.As(c.err, &se):
			// Invariant: a refusal shows a mark that some call had passed with, and
			// no call that ended before it had seen a higher mark.
			if _, ok := find(all, func(p call) bool { return p.begin < c.end && p.err == nil && p.token == se.Highest }); !ok || se.Highest <= c.token {
				return fmt.Errorf("no mark explains the answer to %v", c)
			}
			if p, ok := find(all, func(p call) bool { return p.end < c.begin && p.seen() > se.Highest }); ok {
				return fmt.Errorf("the mark went back: %v had ended before %v began", p, c)
			}
		default:
			return fmt.Errorf("no mark explains the answer to %v", c)
		}
	}
	return nil
}

// seen returns the lowest possible mark at the end of the call.
func (c call) seen() fencing.Token {
	var se *fencing.StaleError
	if errors.As(c.err, &se) {
		return se.Highest
	}
	return c.token
}

func find(all []call, ok func(call) bool) (call, bool) {
	for _, c := range all {
		if ok(c) {
			return c, true
		}
	}
	return call{}, false
}

func (c call) String() string {
	if c.err == nil {
		return fmt.Sprintf("token %d [%d..%d] passed", uint64(c.token), c.begin, c.end)
	}
	return fmt.Sprintf("token %d [%d..%d] refused (%v)", uint64(c.token), c.begin, c.end, c.err)
}
