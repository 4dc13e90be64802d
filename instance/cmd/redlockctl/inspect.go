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

func runInspect(ctx context.Context, o *options, s streams) error {
	c, err := o.connect(s, quorum.Terms{})
	if err != nil {
		return err
	}
	defer c.close()
	found, err := c.Inspect(ctx, o.key)
	if len(found.Votes) == 0 {
		return err
	}
	if err := c.print(ctx, s.out, found); err != nil {
		return err
	}
	switch answered := len(found.Votes) - len(found.Failed); {
	case err != nil:
		return exitError{exitNoQuorum, fmt.Errorf("only %d of %d servers count; a quorum is %d", answered, len(found.Votes), found.Quorum)}
	case state(found) == "unknown":
		return exitError{exitNoQuorum, fmt.Errorf("with the %d servers that don't count it could be held by a quorum", len(found.Failed))}
	case state(found) != "held":
		return exitError{code: exitFree}
	}
	return nil
}

// state says whether the lock is held, or partly, by too few servers for a lock. It is unknown if it would be held with the votes of the servers that don't count.
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
func (c *client) waiting(ctx context.Context, i int, key string) string {
	ctx, cancel := context.WithTimeout(ctx, c.Config().InstanceTimeout)
	defer cancel()
	list, err := c.servers.Members()[i].Client().LRange(ctx, instance.WaitersKey(key), 0, -1).Result()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprint(len(list))
}

// print says what was found. A server's counter is the token of the last lease there, or larger
// (quorum.Inspection).
func (c *client) print(ctx context.Context, w io.Writer, found quorum.Inspection) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "server\tvalue\towner\tremaining\tcounter\twaiting processes")
	var failed strings.Builder
	for i, ballot := range found.Votes {
		vote := ballot.Vote
		if vote.Outcome == wire.Failed {
			fmt.Fprintf(out, "%s\tunknown\t-\t-\tunknown\tunknown\n", ballot.Instance)
			fmt.Fprintf(&failed, "\nnot counted: %s: %s\n", ballot.Instance, quorum.Redact(vote.Err.Error()))
			continue
		}
		value, owner, left := "free", "-", "-"
		if vote.Outcome == wire.Refused {
			value, owner, left = short(vote.Holder)+"...", "no name", timeLeft(vote.Remaining)
			if name, _ := signed(vote.Holder); name != "" {
				owner = fmt.Sprintf("%q", name)
			}
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%s\n", ballot.Instance, value, owner, left, vote.Token, c.waiting(ctx, i, found.Key))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, failed.String()+conclusion(found)+"\n")
	return err
}

// conclusion says who has the lock.
func conclusion(found quorum.Inspection) string {
	var b strings.Builder
	unknown := state(found) == "unknown"
	if unknown {
		fmt.Fprintf(&b, "\n%q may be held: too few servers answered to tell", found.Key)
	} else {
		fmt.Fprintf(&b, "\n%q is %s", found.Key, state(found))
	}
	for i, h := range found.Holders {
		switch {
		case i > 0:
			b.WriteString(", and")
		case unknown:
			b.WriteString("; seen:")
		}
		fmt.Fprintf(&b, " by %s: value %s... on %d of %d servers (a quorum is %d), %s unless its holder extends",
			nameIn(h.Value), short(h.Value), len(h.Instances), len(found.Votes), found.Quorum, timeLeft(h.Remaining))
	}
	return b.String()
}

// signed is the owner and the note in a value, "" if something else has written it.
func signed(value string) (owner, note string) {
	if parts := lockValue.FindStringSubmatch(value); parts != nil {
		return parts[1], parts[2] + parts[3]
	}
	return "", ""
}

// nameIn is the holder's name in a value.
func nameIn(value string) string {
	owner, note := signed(value)
	name := "a client without a name"
	if owner != "" {
		name = fmt.Sprintf("%q", owner)
	}
	if note != "" {
		name += fmt.Sprintf(" (%q)", note)
	}
	return name
}

func timeLeft(d time.Duration) string {
	if d == wire.NoExpiry {
		return "forever"
	}
	return d.Round(100 * time.Millisecond).String()
}

// shortValue is how much of a value is shown. The whole of it is enough to release the lock;
// this part is enough to tell two apart.
const shortValue = 8

func short(value string) string {
	text := fmt.Sprintf("%q", value[:min(shortValue, len(value))]) // something else may have written it
	return text[1 : len(text)-1]
}
