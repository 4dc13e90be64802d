package simulation

import (
	"errors"
	"slices"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// counter is something that happens, and that a check depends on: that one found
// nothing proves nothing where what it looks for never came near.
type counter uint8

const (
	requestLost counter = iota
	replyLost
	timedOut
	replyLate
	replyAfterRelease
	grantLate
	grantAfterTimeout
	minorityTimedOut
	raiseNeeded
	rolledBack
	debtDelivered
	leaseAcquired
	leaseExtended
	extensionLost
	leaseOver
	quarantineRestarted
	quarantineJumped
	quarantineRefused
	clockJumped
	lifeHidden
	readRefused
	writeRefused
	writeRepeated
	writeAfterLease
	processPaused
	stoppedAtReading
	processCrashed
	processRebooted
	serverRestarted
	serverFailedOver
	serverSplit
	serverHung
	serverFlushed
	clockStepped
	keyEvicted
	writesLost
	waitFellShort
	fellBack
	connectionsCut
	requestRepeated
	messageDelayed
	progressJudged
	waiterCalled
	callLost
	earBroken
	valueReplaced
	otherRun
	leasePassed
	leaseHandedOff
	leaseResumed
	serverDemoted
	addressMoved
	otherReached
	connectionKept
	overvalued
	counters // how many
)

// LongerThanKept is what Result.Counts calls a lease that was handed out, or extended,
// with more validity than its servers keep its key: see Lease.
const LongerThanKept = "a lease was promised for longer than its servers keep it"

var counterNames = [counters]string{
	requestLost:         "a request was lost",
	replyLost:           "a reply was lost",
	timedOut:            "a call timed out",
	replyLate:           "a reply came too late",
	replyAfterRelease:   "a reply came after the release",
	grantLate:           "a straggler's grant came late",
	grantAfterTimeout:   "an acquire was granted after its time-out",
	minorityTimedOut:    "a lease was acquired though an acquire timed out",
	raiseNeeded:         "a raise was needed",
	rolledBack:          "a round was rolled back",
	debtDelivered:       "an owed delete was delivered",
	leaseAcquired:       "a lease was acquired",
	leaseExtended:       "a lease was extended",
	extensionLost:       "an extension was lost",
	leaseOver:           "a lease ended before its release",
	quarantineRestarted: "a quarantine began: restarted",
	quarantineJumped:    "a quarantine began: clock jumped",
	quarantineRefused:   "a quarantine kept an instance from voting",
	clockJumped:         "a clock was seen to jump",
	lifeHidden:          "a server hid its run id",
	readRefused:         "the guard refused a read",
	writeRefused:        "the guard refused a write",
	writeRepeated:       "the resource recognised a repeated write",
	writeAfterLease:     "a write was carried out after its lease",
	processPaused:       "a process was paused",
	stoppedAtReading:    "a process stopped at a reading of its clock",
	processCrashed:      "a process crashed",
	processRebooted:     "a process was rebooted",
	serverRestarted:     "a server was restarted",
	serverFailedOver:    "a server failed over",
	serverSplit:         "a server split in two",
	serverHung:          "a server hung",
	serverFlushed:       "a server was flushed",
	clockStepped:        "a clock was stepped",
	keyEvicted:          "a key was evicted",
	writesLost:          "a server forgot what it had answered",
	waitFellShort:       "a WAIT fell short",
	fellBack:            "semi-synchronous replication fell back",
	connectionsCut:      "connections were cut",
	requestRepeated:     "a request arrived twice",
	messageDelayed:      "a message was delayed",
	progressJudged:      "a try in vain was judged",
	waiterCalled:        "a waiter was called",
	callLost:            "a call to a waiter was lost",
	earBroken:           "a waiter's ear was lost",
	valueReplaced:       "a value was replaced by the next one",
	otherRun:            "a server was asked in another run than its own",
	leasePassed:         "a lease was passed on without a round",
	leaseHandedOff:      "a lease was handed off",
	leaseResumed:        "a lease was resumed",
	serverDemoted:       "a server was demoted",
	addressMoved:        "an address was switched",
	otherReached:        "a switched address led to the other server",
	connectionKept:      "a proxy kept a connection",
	overvalued:          LongerThanKept,
}

// verdicts are the errors that a lock may give, from the particular to the
// general: of two that an error is, the first names it.
var verdicts = []error{
	quorum.ErrTooSlow, quorum.ErrTokenRace, quorum.ErrTaken, quorum.ErrSetMismatch, quorum.ErrNoQuorum, quorum.ErrExhausted, quorum.ErrClosed, quorum.ErrInterrupted,
	quorum.ErrNotHeld, quorum.ErrUnreachable, quorum.ErrReleased, quorum.ErrNotExtended, quorum.ErrLost, quorum.ErrExpired, quorum.ErrConfig, fencing.ErrStale,
}

const anotherError = "another error"

// verdict names an error without what differs from one scheduling of goroutines
// to the next, such as which of the answers came last.
func verdict(err error) string {
	for _, known := range verdicts {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return anotherError
}

const noLease = "no lease: "

// Counters lists the names of everything that Result.Counts may count, sorted:
// those that are missing there were never reached.
func Counters() []string {
	names := slices.Clone(counterNames[:])
	for _, v := range verdicts {
		names = append(names, noLease+v.Error())
	}
	names = append(names, noLease+anotherError)
	for op := quorum.Acquire; op < quorum.Probing; op++ {
		for _, o := range []quorum.Outcome{quorum.Granted, quorum.Refused} {
			if op == quorum.Tick && o == quorum.Refused {
				continue // it can't be
			}
			names = append(names, op.String()+" "+o.String())
		}
	}
	slices.Sort(names)
	return names
}

// counted is what a world counts.
type counted struct {
	times    [counters]int
	refusals map[string]int         // by verdict
	votes    [quorum.Probing][3]int // by operation and outcome
}

// totals is all that was counted, by name.
func (c *counted) totals() map[string]int {
	all := make(map[string]int, 32)
	for i, n := range c.times {
		if n > 0 {
			all[counterNames[i]] = n
		}
	}
	for what, n := range c.refusals {
		all[noLease+what] = n
	}
	for op, outcomes := range c.votes {
		for outcome, n := range outcomes {
			if n > 0 {
				all[quorum.Op(op).String()+" "+quorum.Outcome(outcome).String()] = n
			}
		}
	}
	return all
}

func (c *counted) add(what counter) { c.times[what]++ }

func (c *counted) refused(verdict string) {
	if c.refusals == nil {
		c.refusals = map[string]int{}
	}
	c.refusals[verdict]++
}
