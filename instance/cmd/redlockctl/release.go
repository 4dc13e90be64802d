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
	flags.BoolVar(&o.force, "force", false, "delete at once; without it, only a key that lives for longer than MaxTTL is deleted, if nobody extends it for MaxTTL")
}

// lockValue is what this library sets a lock's key to, with the holder's owner and note.
var lockValue = regexp.MustCompile(`^[0-9a-f]{40}(?::(?:([!-~]{1,64})(?: (.{1,128}))?| (.{1,128})))?$`)

// runRelease deletes a lock by hand.
//
// A key that expires in time needs no hand. So what this is for are keys that live too long, because a server's clock
// was set back or somebody took their expiry away. A holder that works extends its keys, and then they live for no
// longer than MaxTTL. So a key that lives for longer than that, MaxTTL after the first look, wasn't extended in
// between, and every lease that it stood for is over by its holder's clocks.
func runRelease(ctx context.Context, c *client, o *options, s streams) error {
	found, err := c.Inspect(ctx, o.keys[0])
	if err != nil {
		return err
	}
	if err := show(s.out, c.inspected(ctx, found), false); err != nil {
		return err
	}
	if len(found.Holders) == 0 {
		s.say("%q is free; there is nothing to delete", o.keys[0])
		return nil
	}
	holder, err := o.choose(found)
	if err != nil {
		return err
	}
	s.say("no server knows whether the holder of %s... still works. It may be paused, or cut off from these servers. "+
		"Make sure that its process has ended. A resource that checks tokens refuses it once it has seen one above %d; nothing else stops it.",
		short(holder.Value), found.Token)
	if !o.force {
		longest := longestMaxTTL(c.Config().MaxTTL, found)
		pause := longest + c.Config().Lab.Drift.Of(longest)
		s.say("checking again in %v whether anybody extends it; -force deletes it at once", pause)
		time.Sleep(pause)
		if found, err = c.Inspect(ctx, o.keys[0]); err != nil {
			return err
		}
		if err := stuck(found, holder.Value, longest); err != nil {
			return err
		}
	}
	return c.deleteValue(s, o.keys[0], holder)
}

// refused is the error if nothing is deleted.
func refused(format string, args ...any) error {
	return exitError{exitRefused, fmt.Errorf("nothing was deleted: "+format, args...)}
}

// choose is the value to delete, which -value has to name. The error says why nothing is deleted.
func (o *options) choose(found quorum.Inspection) (holder quorum.Holder, err error) {
	i := slices.IndexFunc(found.Holders, func(h quorum.Holder) bool { return strings.HasPrefix(h.Value, o.value) })
	switch {
	case len(o.value) < shortValue:
		return holder, refused("a lock is free when its key expires; to delete it nevertheless, give -value %s", short(found.Holders[0].Value))
	case i < 0:
		return holder, refused("no server has a value that begins with %q; another holder has the lock now", o.value[:shortValue])
	case !lockValue.MatchString(found.Holders[i].Value):
		return holder, refused("the value is not a lock's value, so something else uses the key; choose another name for the lock, or delete that key with redis-cli")
	}
	return found.Holders[i], nil
}

// longestMaxTTL is MaxTTL, or that of the clients which took the lock, if theirs is longer: otherwise a key that its
// holder extends would seem to live for too long.
func longestMaxTTL(mine time.Duration, found quorum.Inspection) time.Duration {
	for _, run := range found.Runs {
		if set, err := wire.ParseSet(run.Set()); err == nil {
			mine = max(mine, set.MaxTTL)
		}
	}
	return mine
}

// stuck is nil if the value lives for longer than MaxTTL on all servers that have it, or none has it.
func stuck(found quorum.Inspection, value string, maxTTL time.Duration) error {
	for _, ballot := range found.Votes {
		vote := ballot.Vote
		//guard:hand-release-waits  a lock that its holder extends isn't deleted by hand without -force
		if vote.Outcome == wire.Refused && vote.Holder == value && vote.Remaining != wire.NoExpiry && vote.Remaining <= maxTTL {
			return refused("on %s the key expires in %v, unless its holder is at work and extends it", ballot.Instance, vote.Remaining.Round(time.Millisecond))
		}
	}
	return nil
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
			failed = append(failed, fmt.Errorf("%s: %w", server.Name(), vote.Err))
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
