package box

import "slices"

// noFault is the fault of the schedules without one.
const noFault = "none"

// evenNumber is the fault of an even number of servers, of which no half is a majority. It is
// played without one of them if their number is odd.
const evenNumber = "even number"

// What many faults strike at.
const (
	asksWhile = "A client asked for the lock, extended or released it while "
	hasLess   = " with fewer keys of the lock than before."
)

// faultKind is a fault, with what is done in the steps that are its own, and when it has struck. A fault that
// happens when nothing depends on it shows nothing.
type faultKind struct {
	name string
	own  []verb
	when string
}

// faultKinds are the faults. A schedule with steps of several faults is one of the last of them, because the
// others only prepare it.
var faultKinds = []faultKind{
	{noFault, []verb{waits}, "A client got the lock."},
	{"pause", []verb{pause, sends}, "A client was stopped while it held the lock or asked for it, or its write came after another client had got the lock."},
	{"crash", []verb{kill}, "A client was killed while it held the lock or asked for it."},
	{"network", []verb{cut}, asksWhile + "its link to a server was disturbed."},
	{"hang", []verb{hang}, asksWhile + "a server hung."},
	{"stop", []verb{stop}, asksWhile + "a server was down."},
	{"restart", []verb{start}, "A server came back" + hasLess},
	{"old data", []verb{save}, "A server came back with what it had saved, and" + hasLess},
	{"flush", []verb{flush}, "A server lost a key of the lock."},
	{clockFault, []verb{ahead, behind}, "The clock of a server that had a key of the lock was set."},
	{"failover", []verb{fail}, "A replica took over" + hasLess},
	{"address", []verb{move}, "An address led to another server" + hasLess},
	{evenNumber, []verb{stop, cut}, "As for stop, or as for network."},
}

// Faults returns all faults.
func Faults() []string {
	var all []string
	for _, f := range faultKinds {
		all = append(all, f.name)
	}
	return all
}

// faultNamed returns a fault, and an empty one for a name that is no fault's.
func faultNamed(name string) faultKind {
	for _, f := range faultKinds {
		if f.name == name {
			return f
		}
	}
	return faultKind{}
}

// Strikes says when a fault has struck.
func Strikes(fault string) string { return faultNamed(fault).when }

// faultVerb is what a step does, and cut for all that is done to a link.
func (s Step) faultVerb() verb {
	if forms[s.Do] == linkLast {
		return cut
	}
	return s.Do
}

// faultOf returns the fault that a schedule shows: the one that it was played for, if it has a step of it,
// or else another one.
func (s Schedule) faultOf(playedFor string) string {
	has := func(fault string) bool {
		return slices.ContainsFunc(s, func(step Step) bool { return slices.Contains(faultNamed(fault).own, step.faultVerb()) })
	}
	if playedFor == evenNumber || has(playedFor) {
		return playedFor
	}
	for _, f := range slices.Backward(faultKinds[1 : len(faultKinds)-1]) { // neither none nor the even number, which fit many
		if has(f.name) {
			return f.name
		}
	}
	return noFault
}
