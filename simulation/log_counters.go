package simulation

import (
	"errors"
	"maps"
	"slices"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Counters of situations that have no event but matter to a check: no findings prove little
// if the situation never occurred.
var (
	replyAfterRelease   = counter("a reply came after the release")
	grantTooLate        = counter("a grant came too late")
	grantAfterTimeout   = counter("an acquire was granted after its timeout")
	minorityTimedOut    = counter("a lease was acquired though an acquire timed out")
	raiseNeeded         = counter("a raise was needed")
	rolledBack          = counter("a round was rolled back")
	deleteDelivered     = counter("a pending delete was delivered")
	extensionLost       = counter("an extension was lost")
	leaseOver           = counter("a lease ended before its release")
	quarantineRestarted = counter("a quarantine began: restarted")
	quarantineJumped    = counter("a quarantine began: clock jumped")
	quarantineRefused   = counter("a quarantine kept an instance from voting")
	clockJumped         = counter("a clock was seen to jump")
	runIDHidden         = counter("a server hid its run id")
	writeAfterLease     = counter("a write was carried out after its lease")
	processPaused       = counter("a process was paused")
	stoppedAtReading    = counter("a process stopped at a reading of its clock")
	processRebooted     = counter("a process was rebooted")
	serverRestarted     = counter("a server was restarted")
	serverFailedOver    = counter("a server failed over")
	serverSplit         = counter("a server split in two")
	serverHung          = counter("a server hung")
	serverFlushed       = counter("a server was flushed")
	clockStepped        = counter("a clock was stepped")
	keyEvicted          = counter("a key was evicted")
	writesLost          = counter("a server lost acknowledged writes")
	waitFellShort       = counter("a WAIT fell short")
	connectionsCut      = counter("connections were cut")
	messageDelayed      = counter("a message was delayed")
	progressChecked     = counter("a failed attempt was checked for progress")
	valueReplaced       = counter("a value was replaced by the next one")
	otherRun            = counter("a server was asked in another run than its own")
	leaseHandedOver     = counter("a lease was handed to a local waiter")
	leaseResumed        = counter("a lease was resumed")
	serverDemoted       = counter("a server was demoted")
	addressMoved        = counter("an address was switched")
	otherReached        = counter("a switched address led to the other server")
	connectionKept      = counter("a proxy kept a connection")
	overvalued          = counter(LongerThanKept)
)

var counterNames []string

func counter(name string) string {
	counterNames = append(counterNames, name)
	return name
}

// LongerThanKept is the counter in Log.Counts of leases that were granted or extended with
// more validity than their servers keep the key, see Lease.
const LongerThanKept = "a lease was promised for longer than its servers keep it"

// lockErrors are the errors of locks, from the particular to the general. The first match
// names an error.
var lockErrors = []error{
	quorum.ErrTooSlow, quorum.ErrTokenRace, quorum.ErrTaken, wire.ErrSetMismatch, quorum.ErrNoQuorum, quorum.ErrExhausted, quorum.ErrClosed, quorum.ErrInterrupted,
	quorum.ErrNotHeld, quorum.ErrUnreachable, quorum.ErrReleased, quorum.ErrNotExtended, quorum.ErrLost, quorum.ErrExpired, quorum.ErrConfig, fencing.ErrStale,
}

const anotherError = "another error"

// errorName names an error without the parts that depend on goroutine scheduling, such as
// which reply arrived last.
func errorName(err error) string {
	for _, known := range lockErrors {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return anotherError
}

const noLease = "no lease: "

// kindCounts maps event kinds to counters, and useCounts the outcomes of a Read or a Write.
var kindCounts = [eventKinds]string{
	RequestLost: "a request was lost", ReplyLost: "a reply was lost", GaveUp: "a call timed out", Ignored: "a reply came too late",
	Acquired: "a lease was acquired", Extended: "a lease was extended", HandedOff: "a lease was handed off",
	Crashed: "a process crashed", FellBack: "semi-synchronous replication fell back", RequestDuplicated: "a request arrived twice",
	Notified: "a waiter was notified", NotificationLost: "a notification was lost", SubscriptionLost: "a subscription was lost",
}

var useCounts = map[[2]string]string{
	{"read", "refused"}: "the guard refused a read", {"write", "refused"}: "the guard refused a write",
	{"write", "repeated"}: "the resource recognised a repeated write",
}

// Counters lists the names of all counters of Log.Counts, sorted. Counters that are missing
// in Log.Counts were never reached.
func Counters() []string {
	names := slices.Concat(counterNames, kindCounts[:], slices.Collect(maps.Values(useCounts)))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	for _, v := range lockErrors {
		names = append(names, noLease+v.Error())
	}
	names = append(names, noLease+anotherError)
	for op := wire.Acquire; op < wire.Probe; op++ {
		for _, o := range []wire.Outcome{wire.Granted, wire.Refused} {
			if op == wire.Tick && o == wire.Refused {
				continue // it can't be
			}
			names = append(names, op.String()+" "+o.String())
		}
	}
	slices.Sort(names)
	return names
}
