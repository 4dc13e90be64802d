package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// clientProcess is the argument with which this program is a client. Then it reads and writes JSON: it
// gets a Task, warms up and answers {}, gets {}, measures and answers a Result. At the end of its
// input it closes what it has opened.
const clientProcess = "client"

// job is what a client does.
type job interface {
	warmUp(context.Context) error
	measure(context.Context) Result
	close()
}

// serve is the client's side.
func serve(stdin io.Reader, stdout io.Writer) error {
	ctx, in, out, next := context.Background(), json.NewDecoder(stdin), json.NewEncoder(stdout), &struct{}{}
	var task Task
	if err := in.Decode(&task); err != nil {
		return fmt.Errorf("the task: %w", err)
	}
	j, err := task.open()
	if err != nil {
		return err
	}
	defer j.close()
	if err := j.warmUp(ctx); err != nil {
		return err
	}
	if err := errors.Join(out.Encode(next), in.Decode(next)); err != nil {
		return err
	}
	if err := out.Encode(j.measure(ctx)); err != nil {
		return err
	}
	if err := in.Decode(next); err != io.EOF {
		return fmt.Errorf("want the end of the input: %v", err)
	}
	return nil
}

// contenders returns all contenders. The others are compared with the first.
func contenders() []contender {
	return slices.Concat(redsyncs(), rueidislocks(), redislocks(), ourselves())
}

func (t Task) open() (job, error) {
	if t.Leases > 0 {
		return openHeld(t)
	}
	list := contenders()
	i := slices.IndexFunc(list, func(c contender) bool { return c.name == t.Contender })
	if i < 0 {
		return nil, fmt.Errorf("there is no contender %q", t.Contender)
	}
	l, err := list[i].open(t.Addrs)
	return &workers{task: t, locker: l}, err
}
