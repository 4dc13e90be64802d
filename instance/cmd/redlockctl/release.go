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
	flags.StringVar(&o.value, "value", "", "the beginning of the `value` to delete, 8 characters or more, as inspect shows it")
	flags.BoolVar(&o.force, "force", false, "delete at once; without it, only what nobody extends for MaxTTL is deleted")
}

func checkRelease(o *options) error {
	if o.isGiven("value") && len(o.value) < shortValue {
		return badUsage("%s has %d characters, want 8 or more of those that inspect shows", o.name("value"), len(o.value))
	}
	return nil
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
	if err := c.sameMaxTTL(found.Inspection); err != nil {
		return err
	}
	if err := c.inspected(ctx, found.Inspection).print(s.out); err != nil {
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
		s.say("watching for %v whether anybody extends it; -force deletes it at once", c.watchTime())
		gone, err := c.watch(ctx, found, holder.Value)
		if err != nil {
			return err
		}
		if gone {
			s.say("nothing was deleted: the value is on no server any more, because its key has expired or its holder released it")
			return nil
		}
	}
	return c.deleteValue(s, o.keys[0], holder)
}

// choose is the value to delete. The error says why nothing is deleted.
func (o *options) choose(found quorum.Inspection) (quorum.Holder, error) {
	refuse := func(format string, args ...any) (quorum.Holder, error) {
		return quorum.Holder{}, exitError{exitRefused, fmt.Errorf("nothing was deleted: "+format, args...)}
	}
	holders := found.Holders
	switch {
	case o.value != "":
		holders = slices.DeleteFunc(slices.Clone(holders), func(h quorum.Holder) bool { return !strings.HasPrefix(h.Value, o.value) })
		if len(holders) == 0 {
			return refuse("no server has a value that begins with %q; another holder has the lock now", o.value[:shortValue])
		}
	case !o.force:
		h := holders[0]
		wait := "it is free in " + timeLeft(remaining(h.Remaining)) + " unless its holder extends it, which a wait tells"
		if h.Remaining == wire.NoExpiry {
			wait = "its key never expires"
		}
		return refuse("%s; to delete it nevertheless, give -value %s", wait, short(h.Value))
	}
	if len(holders) > 1 {
		return refuse("there are %d values; choose one with -value", len(holders))
	}
	if !lockValue.MatchString(holders[0].Value) {
		return refuse("the value is none that a lock has, so something else uses the key; choose another name for the lock, or delete that key with redis-cli")
	}
	return holders[0], nil
}

// sameMaxTTL refuses a MaxTTL that is shorter than that of the clients that took the lock: the
// watch would be too short.
func (c *client) sameMaxTTL(found quorum.Inspection) error {
	for i, run := range found.Runs {
		set, err := wire.ParseSet(run.Set())
		if err == nil && set.MaxTTL > c.Config().MaxTTL {
			return badUsage("%s: -max-ttl is %v, but the clients of this server have %v (%s); give -max-ttl %v", found.Votes[i].Instance, c.Config().MaxTTL, set.MaxTTL, set, set.MaxTTL)
		}
	}
	return nil
}

// watchTime is MaxTTL and the drift allowance on it.
func (c *client) watchTime() time.Duration {
	cfg := c.Config()
	return cfg.MaxTTL + cfg.Lab.Drift.Of(cfg.MaxTTL)
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

// watch looks at the value's keys until it has seen for MaxTTL that nobody extends them: their
// remaining times must go down with the time that passes. gone says that no server has the value
// any more. A server that had it, and doesn't answer, may still have it.
func (c *client) watch(ctx context.Context, before look, value string) (gone bool, err error) {
	watch := c.watchTime()
	for ctx.Err() == nil {
		left := watch - time.Since(before.to)
		select {
		case <-time.After(min(max(left, 0), max(watch/30, 50*time.Millisecond))):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		now, err := c.look(ctx, before.Key)
		if err != nil {
			return false, err
		}
		there, silent := false, false
		for i, ballot := range now.Votes {
			silent = silent || ballot.Vote.Outcome == wire.Failed && before.Votes[i].Vote.Holder == value
			if ballot.Vote.Outcome != wire.Refused || ballot.Vote.Holder != value {
				continue
			}
			there = true
			if changed := extended(before.Votes[i].Vote, ballot.Vote, value, now.from.Sub(before.to), now.to.Sub(before.from)); changed != "" {
				return false, exitError{exitRefused, fmt.Errorf("nothing was deleted: on %s %s; its holder is at work, or the server's clock was set", ballot.Instance, changed)}
			}
		}
		switch {
		case !there && !silent:
			return true, nil
		case now.from.Sub(before.to) >= watch:
			return false, nil
		}
	}
	return false, context.Cause(ctx)
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
		request := wire.Request{Op: wire.Release, Key: key, Value: holder.Value, Notify: true}
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
	switch {
	case len(failed) > 0:
		return exitError{exitFailed, fmt.Errorf("deleted on %d servers, but perhaps not on all; try again: %w", deleted, errors.Join(failed...))}
	case deleted == 0:
		return exitError{exitRefused, errors.New("nothing was deleted: the value is on no server any more")}
	}
	return nil
}
