package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// inspected is inspect's report for programs. Times are in milliseconds.
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

// inspectedServer is one server's answer. Remaining is -1 for a key that never expires.
type inspectedServer struct {
	Name      string  `json:"name"`
	Error     string  `json:"error,omitempty"`
	Value     string  `json:"value,omitempty"` // its first 8 characters, "" if the key is free
	Owner     string  `json:"owner,omitempty"`
	Remaining float64 `json:"remaining_ms,omitempty"`
	Counter   uint64  `json:"counter"` // the token of the last lease here, or larger (quorum.Inspection)
	Waiting   *int64  `json:"waiting"` // processes in the queue there, null if that is unknown
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
	switch answered := len(found.Votes) - len(found.Failed); {
	case err != nil:
		return exitError{exitNoQuorum, fmt.Errorf("only %d of %d servers count; a quorum is %d", answered, len(found.Votes), found.Quorum)}
	case v.State == "unknown":
		return exitError{exitNoQuorum, fmt.Errorf("with the %d servers that don't count it could be held by a quorum", len(found.Failed))}
	case v.State != "held":
		return exitError{code: exitFree}
	}
	return nil
}

func (c *client) inspected(ctx context.Context, found quorum.Inspection) inspected {
	v := inspected{Key: found.Key, State: state(found), Quorum: found.Quorum, Counter: uint64(found.Token), Holders: []inspectedHolder{}}
	for _, h := range found.Holders {
		owner, note := signed(h.Value)
		v.Holders = append(v.Holders, inspectedHolder{Owner: owner, Note: note, Value: short(h.Value), Held: h.Held, Remaining: remaining(h.Remaining), Servers: h.Instances})
	}
	for i, ballot := range found.Votes {
		one := inspectedServer{Name: ballot.Instance, Counter: uint64(ballot.Vote.Token)}
		switch ballot.Vote.Outcome {
		case wire.Refused:
			one.Value, one.Remaining = short(ballot.Vote.Holder), remaining(ballot.Vote.Remaining)
			one.Owner, _ = signed(ballot.Vote.Holder)
		case wire.Failed:
			one.Error = quorum.Redact(ballot.Vote.Err.Error())
		}
		if one.Error == "" {
			one.Waiting = c.waiting(ctx, i, found.Key)
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

// waiting is how many processes are in a server's wait queue for the key. It uses the command
// that waiters have the right to.
func (c *client) waiting(ctx context.Context, i int, key string) *int64 {
	ctx, cancel := context.WithTimeout(ctx, c.Config().InstanceTimeout)
	defer cancel()
	server := c.servers.Members()[i]
	list, err := server.Client().LRange(ctx, server.Key(instance.WaitersKey(key)), 0, -1).Result()
	if err != nil {
		return nil
	}
	n := int64(len(list))
	return &n
}

// print writes the report for people.
func (v inspected) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "server\tvalue\towner\tremaining\tcounter\twaiting processes")
	for _, one := range v.Servers {
		value, owner, left, counter, waiting := "free", "-", "-", fmt.Sprint(one.Counter), "unknown"
		switch {
		case one.Error != "":
			value, counter = "unknown", "unknown"
		case one.Value != "":
			value, owner, left = one.Value+"...", "no name", timeLeft(one.Remaining)
		}
		if one.Owner != "" {
			owner = fmt.Sprintf("%q", one.Owner)
		}
		if one.Waiting != nil {
			waiting = fmt.Sprint(*one.Waiting)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", one.Name, value, owner, left, counter, waiting)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, one := range v.Servers {
		if one.Error != "" {
			fmt.Fprintf(&b, "\nnot counted: %s: %s\n", one.Name, one.Error)
		}
	}
	if v.State == "unknown" {
		fmt.Fprintf(&b, "\n%q may be held: too few servers answered to tell", v.Key)
	} else {
		fmt.Fprintf(&b, "\n%q is %s", v.Key, v.State)
	}
	for i, h := range v.Holders {
		switch {
		case i > 0:
			b.WriteString(", and")
		case v.State == "unknown":
			b.WriteString("; seen:")
		}
		fmt.Fprintf(&b, " by %s: value %s... on %d of %d servers (a quorum is %d), %s unless its holder extends",
			h.name(), h.Value, len(h.Servers), len(v.Servers), v.Quorum, timeLeft(h.Remaining))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// signed is the owner and the note in a value, "" if something else has written it.
func signed(value string) (owner, note string) {
	if parts := lockValue.FindStringSubmatch(value); parts != nil {
		return parts[1], parts[2] + parts[3]
	}
	return "", ""
}

func (h inspectedHolder) name() string {
	name := "a client without a name"
	if h.Owner != "" {
		name = fmt.Sprintf("%q", h.Owner)
	}
	if h.Note != "" {
		name += fmt.Sprintf(" (%q)", h.Note)
	}
	return name
}

func timeLeft(milliseconds float64) string {
	if milliseconds < 0 {
		return "forever"
	}
	return time.Duration(milliseconds * float64(time.Millisecond)).Round(100 * time.Millisecond).String()
}

func remaining(d time.Duration) float64 {
	if d == wire.NoExpiry {
		return -1
	}
	return ms(d)
}

// shortValue is how much of a value is shown. The whole of it is enough to release the lock;
// this part is enough to tell two apart.
const shortValue = 8

func short(value string) string {
	text := fmt.Sprintf("%q", value[:min(shortValue, len(value))]) // something else may have written it
	return text[1 : len(text)-1]
}
