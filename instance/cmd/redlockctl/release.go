package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

func releaseFlags(flags *flag.FlagSet, o *options) {
	flags.Func("value", "the beginning of the `value` to delete, 8 characters or more, as inspect shows it", func(text string) error {
		if o.value = text; len(text) < shortValue {
			return errors.New("want 8 or more of the characters that inspect shows")
		}
		return nil
	})
	flags.BoolVar(&o.force, "force", false, "delete at once; without it, only what nobody extends for MaxTTL is deleted")
}

// lockValue is what this library sets a lock's key to, with the holder's owner and note.
var lockValue = regexp.MustCompile(`^[0-9a-f]{40}(?::(?:([!-~]{1,64})(?: (.{1,128}))?| (.{1,128})))?$`)

// runRelease deletes a lock by hand.
//
// A lock whose key expires in time needs no hand. So what this is for are keys that live too long,
// because a server's clock was set back or somebody took their expiry away. Such a key may be
// deleted when MaxTTL has passed since it was last taken or extended: then every lease that it
// stood for is over by its holder's clocks. This command doesn't know when that was. So it watches
// for MaxTTL that nobody extends the key, by this machine's clock.
func runRelease(ctx context.Context, c *client, o *options, s streams) error {
	found, err := c.look(ctx, o.keys[0])
	if err != nil {
		return err
	}
	if err := show(s.out, c.inspected(ctx, found.Inspection), false); err != nil {
		return err
	}
	if len(found.Holders) == 0 {
		s.say("%q is free; there is nothing to delete", o.keys[0])
		return nil
	}
	holder, err := o.choose(found.Inspection)
	if err != nil {
		return err
	}
	s.say("what no server knows: whether the holder of %s... still works. It may be paused, or cut off from these servers. "+
		"See that its process has ended. A resource that checks tokens refuses it once it has seen one above %d; nothing else stops it.",
		short(holder.Value), found.Token)
	if !o.force {
		watch := longestMaxTTL(c.Config().MaxTTL, found.Inspection)
		watch += c.Config().Lab.Drift.Of(watch)
		s.say("watching for %v whether anybody extends it; -force deletes it at once", watch)
		if err := c.watch(ctx, found, holder.Value, watch); err != nil {
			return err
		}
	}
	return c.deleteValue(s, o.keys[0], holder)
}

// choose is the value to delete, which -value has to name. The error says why nothing is deleted.
func (o *options) choose(found quorum.Inspection) (quorum.Holder, error) {
	refuse := func(format string, args ...any) (quorum.Holder, error) {
		return quorum.Holder{}, exitError{exitRefused, fmt.Errorf("nothing was deleted: "+format, args...)}
	}
	named := func(h quorum.Holder) bool { return strings.HasPrefix(h.Value, o.value) }
	i := slices.IndexFunc(found.Holders, named)
	switch {
	case o.value == "":
		return refuse("a lock is free when its key expires; to delete it nevertheless, give -value %s", short(found.Holders[0].Value))
	case i < 0:
		return refuse("no server has a value that begins with %q; another holder has the lock now", o.value[:shortValue])
	case slices.ContainsFunc(found.Holders[i+1:], named):
		return refuse("several values begin with %q; give more of it", o.value[:shortValue])
	case !lockValue.MatchString(found.Holders[i].Value):
		return refuse("the value is none that a lock has, so something else uses the key; choose another name for the lock, or delete that key with redis-cli")
	}
	return found.Holders[i], nil
}

// longestMaxTTL is MaxTTL, or that of the clients which took the lock, if theirs is longer: otherwise a watch would be
// too short.
func longestMaxTTL(mine time.Duration, found quorum.Inspection) time.Duration {
	for _, run := range found.Runs {
		if set, err := wire.ParseSet(run.Set()); err == nil {
			mine = max(mine, set.MaxTTL)
		}
	}
	return mine
}

// look is what the servers say about a key, and between which moments they said it.
type look struct {
	quorum.Inspection
	from, to time.Time
}

func (c *client) look(ctx context.Context, key string) (l look, err error) {
	l.from = time.Now()
	l.Inspection, err = c.Inspect(ctx, key)
	l.to = time.Now()
	return l, err
}

// watch looks at the value's keys until it has seen for a time that nobody extends them: their
// remaining times must go down with the time that passes. It ends early if no server has the value any
// more. A server that had it, and doesn't answer, may still have it.
func (c *client) watch(ctx context.Context, before look, value string, watch time.Duration) error {
	for gone, over := false, false; !gone && !over; {
		left := watch - time.Since(before.to)
		time.Sleep(min(max(left, 0), max(watch/30, 50*time.Millisecond)))
		now, err := c.look(ctx, before.Key)
		if err != nil {
			return err
		}
		gone, over = true, now.from.Sub(before.to) >= watch
		for i, ballot := range now.Votes {
			had := before.Votes[i].Vote
			switch vote := ballot.Vote; {
			case vote.Outcome == wire.Failed:
				gone = gone && had.Holder != value
			case vote.Outcome == wire.Refused && vote.Holder == value:
				gone = false
				if changed := extended(had, vote, value, now.from.Sub(before.to), now.to.Sub(before.from)); changed != "" {
					return exitError{exitRefused, fmt.Errorf("nothing was deleted: on %s %s; its holder is at work, or the server's clock was set", ballot.Instance, changed)}
				}
			}
		}
	}
	return nil
}

// extended says how a key was changed between two answers, "" if it was not. least and most are the
// bounds of the time between them, however late they came. Clocks run at different rates.
func extended(before, now wire.Vote, value string, least, most time.Duration) string {
	tolerance := 100*time.Millisecond + most/100
	switch went := before.Remaining - now.Remaining; {
	case before.Outcome == wire.Failed:
		return "nobody knows how long the key lived before, because it did not answer then"
	case before.Holder != value:
		return "the value is new"
	case before.Remaining == wire.NoExpiry && now.Remaining == wire.NoExpiry:
		return ""
	case before.Remaining == wire.NoExpiry || now.Remaining == wire.NoExpiry:
		return "the key's expiry was set or taken away"
	//guard:hand-release-watches  a lock that its holder extends isn't deleted by hand without -force
	case went < least-tolerance || went > most+tolerance:
		return fmt.Sprintf("the key lives for another %v, and not for %v: it was extended", now.Remaining.Round(time.Millisecond), (before.Remaining - least).Round(time.Millisecond))
	}
	return ""
}

// deleteValue deletes the value on all servers, if it is still there, and notifies a waiter.
func (c *client) deleteValue(s streams, key string, holder quorum.Holder) error {
	var failed []error
	deleted := 0
	for _, server := range c.servers.Members() {
		// The server compares: another holder's lock stays.
		request := wire.Request{Op: wire.Release, Keys: []string{key}, Value: holder.Value, Notify: true}
		answer := make(chan wire.Vote, 1)
		server.Send(request, c.Config().InstanceTimeout, wire.ReceiverFunc(func(vote wire.Vote) { answer <- vote }))
		switch vote := <-answer; {
		case vote.Outcome == wire.Granted:
			deleted++
			s.say("deleted on %s", server.Name())
		case vote.Err != nil && slices.Contains(holder.Instances, server.Name()):
			failed = append(failed, fmt.Errorf("%s: %s", server.Name(), quorum.Redact(vote.Err.Error())))
		}
	}
	if len(failed) > 0 {
		return exitError{exitFailed, fmt.Errorf("deleted on %d servers, but perhaps not on all; try again: %w", deleted, errors.Join(failed...))}
	}
	if deleted == 0 {
		s.say("nothing was deleted: the value is on no server any more, because its key has expired or its holder released it")
	}
	return nil
}
