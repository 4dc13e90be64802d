package search

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

// The two ends of a worker speak JSON, one value a line. The worker is told the
// Space, and then range after range; of each range it says before every run that it
// begins, so that it is known which run killed it, and at the end what came of it.

// order is a range of Setups to play.
type order struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// message is what a worker says: one of these.
type message struct {
	Begins *uint64 `json:"begins,omitempty"`
	Batch  *Batch  `json:"batch,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Serve is a worker process's whole life: it plays what it is told on in, and
// answers on out, until in ends. Nothing else may write to out.
//
// The error is that of in or out, or one that the other end has been told.
func Serve(r Registry, in io.Reader, out io.Writer) error {
	// Runs leave little behind and much to collect: a worker has the memory to do that
	// more rarely.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	commands, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var space Space
	if err := commands.Decode(&space); err != nil {
		return fmt.Errorf("search: the space can't be read: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, answers.Encode(message{Error: err.Error()})) }
	c, err := r.open(space)
	if err != nil {
		return fail(err)
	}
	for {
		var o order
		if err := commands.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("search: an order can't be read: %w", err)
		}
		if o.To < o.From || o.To > c.n {
			return fail(fmt.Errorf("%w: no range %d:%d in a space of %d", ErrSetup, o.From, o.To, c.n))
		}
		var lost error
		batch, err := c.play(o.From, o.To, func(i uint64) {
			if lost == nil {
				lost = answers.Encode(message{Begins: &i})
			}
		})
		if err != nil {
			return fail(err)
		}
		if lost != nil {
			return lost // nobody listens any more
		}
		if err := answers.Encode(message{Batch: &batch}); err != nil {
			return err
		}
	}
}
