package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// inspected is inspect's report for programs. Times are in milliseconds, -1 for a key that never expires.
type inspected struct {
	Key     string            `json:"key"`
	State   string            `json:"state"` // held, partly held (by too few servers for a lock), free, or unknown
	Quorum  int               `json:"quorum"`
	Counter uint64            `json:"counter"` // the largest of the servers'
	Holders []inspectedHolder `json:"holders"`
	Servers []inspectedServer `json:"servers"`
}

type inspectedHolder struct {
	Owner     string   `json:"owner"`
	Note      string   `json:"note,omitempty"`
	Value     string   `json:"value"` // its first 8 characters
	Held      bool     `json:"held"`  // by a quorum
	Remaining float64  `json:"remaining_ms"`
	Servers   []string `json:"servers"`
}

type inspectedServer struct {
	Name      string  `json:"name"`
	Error     string  `json:"error,omitempty"`
	Value     string  `json:"value,omitempty"` // its first 8 characters, "" if the key is free
	Remaining float64 `json:"remaining_ms,omitempty"`
	Counter   uint64  `json:"counter"` // the token of the last lease here, or larger (quorum.Inspection)
	Waiting   *int    `json:"waiting"` // processes in the queue there, null if that is unknown
}

func runInspect(ctx context.Context, c *client, o *options, s streams) error {
	found, err := c.Inspect(ctx, o.keys[0])
	if len(found.Votes) == 0 {
		return err
	}
	v := c.inspected(ctx, found)
	if err := show(s.out, v, o.json); err != nil {
		return err
	}
	switch {
	case err != nil || v.State == "unknown":
		return exitError{code: exitNoQuorum}
	case v.State != "held":
		return exitError{code: exitFree}
	}
	return nil
}

func (c *client) inspected(ctx context.Context, found quorum.Inspection) inspected {
	v := inspected{Key: found.Key, State: state(found), Quorum: found.Quorum, Counter: uint64(found.Token), Holders: []inspectedHolder{}}
	ctx, cancel := context.WithTimeout(ctx, c.Config().InstanceTimeout*time.Duration(len(found.Votes)))
	defer cancel()
	for _, h := range found.Holders {
		v.Holders = append(v.Holders, inspectedHolder{
			Owner: h.Owner, Note: h.Note, Value: short(h.Value), Held: h.Held, Remaining: ms(h.Remaining), Servers: h.Instances,
		})
	}
	for i, ballot := range found.Votes {
		one := inspectedServer{Name: ballot.Instance, Counter: uint64(ballot.Vote.Token)}
		switch ballot.Vote.Outcome {
		case wire.Refused:
			one.Value, one.Remaining = short(ballot.Vote.Holder), ms(ballot.Vote.Remaining)
		case wire.Failed:
			one.Error = quorum.Redact(ballot.Vote.Err.Error())
		}
		if one.Error == "" {
			server := c.servers.Members()[i]
			queue, err := server.Client().LRange(ctx, server.Key(instance.WaitersKey(found.Key)), 0, -1).Result() // waiters have the right to it
			if err == nil {
				one.Waiting = new(len(queue))
			}
		}
		v.Servers = append(v.Servers, one)
	}
	return v
}

// state says whether the lock is held, in one of the words of inspected.State. It is unknown if it
// would be held with the votes of the servers that don't count.
func state(found quorum.Inspection) string {
	most := 0
	if len(found.Holders) > 0 {
		most = len(found.Holders[0].Instances)
	}
	switch {
	case most >= found.Quorum:
		return "held"
	case most+len(found.Failed) >= found.Quorum:
		return "unknown"
	case most > 0:
		return "partly held"
	}
	return "free"
}

// print writes the report for people.
func (v inspected) print(w io.Writer) {
	fmt.Fprintln(w, "server\tvalue\tremaining\tcounter\twaiting processes")
	for _, one := range v.Servers {
		value, left, waiting := "free", "-", "unknown"
		if one.Value != "" {
			value, left = one.Value+"...", timeLeft(one.Remaining)
		}
		if one.Waiting != nil {
			waiting = fmt.Sprint(*one.Waiting)
		}
		if one.Error != "" {
			fmt.Fprintf(w, "%s\tunknown\n", one.Name)
		} else {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", one.Name, value, left, one.Counter, waiting)
		}
	}
	for _, one := range v.Servers {
		if one.Error != "" {
			fmt.Fprintf(w, "\nnot counted: %s: %s\n", one.Name, one.Error)
		}
	}
	if v.State == "unknown" {
		fmt.Fprintf(w, "\n%q may be held: too few servers answered to tell\n", v.Key)
	} else {
		fmt.Fprintf(w, "\n%q is %s\n", v.Key, v.State)
	}
	for _, h := range v.Holders {
		fmt.Fprintf(w, "value %s... of owner %q, note %q: on %d of %d servers (a quorum is %d), %s unless its holder extends\n",
			h.Value, h.Owner, h.Note, len(h.Servers), len(v.Servers), v.Quorum, timeLeft(h.Remaining))
	}
}
