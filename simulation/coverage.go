package simulation

import "github.com/redquorum/redlock/simulation/record"

// Counters of situations that have no event but matter to a check: no findings prove little
// if the situation never occurred.
var (
	quarantineRestarted = record.Counter("a quarantine began: restarted")
	quarantineJumped    = record.Counter("a quarantine began: clock jumped")
	clockJumped         = record.Counter("a clock was seen to jump")
	runIDHidden         = record.Counter("a server hid its run id")
	processPaused       = record.Counter("a process was paused")
	processRebooted     = record.Counter("a process was rebooted")
	serverRestarted     = record.Counter("a server was restarted")
	serverFailedOver    = record.Counter("a server failed over")
	serverSplit         = record.Counter("a server split in two")
	serverHung          = record.Counter("a server hung")
	serverFlushed       = record.Counter("a server was flushed")
	clockStepped        = record.Counter("a clock was stepped")
	keyEvicted          = record.Counter("a key was evicted")
	writesLost          = record.Counter("a server lost acknowledged writes")
	waitFellShort       = record.Counter("a WAIT fell short")
	messageDelayed      = record.Counter("a message was delayed")
	progressChecked     = record.Counter("a failed attempt was checked for progress")
	valueReplaced       = record.Counter("a value was replaced by the next one")
	lowVote             = record.Counter("a vote was low")
	otherRun            = record.Counter("a server was asked in another run than its own")
	leaseResumed        = record.Counter("a lease was resumed")
	addressMoved        = record.Counter("an address was switched")
	writeAfterLease     = record.Counter("a write was carried out after its lease")
	readRefused         = record.Counter("the guard refused a read")
	writeRefused        = record.Counter("the guard refused a write")
	writeRepeated       = record.Counter("the resource recognised a repeated write")
)
