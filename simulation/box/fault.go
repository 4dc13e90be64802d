package box

import "slices"

// noFault is the fault of the schedules without one.
const noFault = "none"

// evenNumber is the fault of an even number of servers, of which no half is a majority. It is
// played without one of them if their number is odd.
const evenNumber = "even number"

// clockFault needs servers with clocks of their own.
const clockFault = "clock"

// ofProcesses are the faults that embedded servers don't have.
var ofProcesses = []string{"old data", "failover", "address", clockFault}

// serversFor returns how many of n servers a fault is played with.
func serversFor(fault string, n int) int {
	if fault == evenNumber {
		return n - n%2
	}
	return n
}

// faultKind is a fault, with what is done in the steps that are its own.
type faultKind struct {
	name string
	own  verbs
	// random are the ways in which random schedules have it.
	random []disturbance
	// once: a random schedule has it no second time.
	once bool
}

type verbs []verb

// disturbance is what is done to a client, to a link of a client to some servers, or to servers, and what ends it.
type disturbance struct{ begin, end verbs }

// faultKinds are the faults. A schedule with steps of several faults is one of the last of them, because the
// others only prepare it.
var faultKinds = []faultKind{
	{name: noFault, own: verbs{waits}},
	{name: "pause", own: verbs{pause, sends}, random: []disturbance{{verbs{pause}, verbs{resume, writes}}, {verbs{sends}, verbs{lands}}}},
	{name: "crash", own: verbs{kill}, random: []disturbance{{verbs{kill}, verbs{spawn}}}},
	{name: "network", own: verbs{cut}, random: []disturbance{
		{verbs{cut}, verbs{heal}}, {verbs{delay}, verbs{heal}}, {verbs{hold}, verbs{heal}}, {verbs{lose}, verbs{heal}},
	}},
	{name: "hang", own: verbs{hang}, random: []disturbance{{verbs{hang}, verbs{wake}}}},
	// Servers that start are empty: that is another fault.
	{name: "stop", own: verbs{stop}, random: []disturbance{{verbs{stop}, verbs{start}}}, once: true},
	{name: "restart", own: verbs{start}, random: []disturbance{{verbs{stop, start}, nil}}},
	{name: "old data", own: verbs{save}, random: []disturbance{{verbs{save}, nil}, {verbs{stop, start}, nil}}},
	{name: "flush", own: verbs{flush}, random: []disturbance{{verbs{flush}, nil}}},
	// The clocks of other servers would be no minority.
	{name: clockFault, own: verbs{ahead, behind}, random: []disturbance{{verbs{ahead}, verbs{right}}, {verbs{behind}, verbs{right}}}, once: true},
	// No server fails twice.
	{name: "failover", own: verbs{fail}, random: []disturbance{{verbs{follow, lag}, verbs{fail}}}, once: true},
	{name: "address", own: verbs{move}, random: []disturbance{{verbs{move}, verbs{home}}}},
	{name: evenNumber, own: verbs{stop, cut}, random: []disturbance{{verbs{stop}, verbs{start}}}, once: true},
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

// faultVerb is what a step does, and cut for all that is done to a link.
func (s Step) faultVerb() verb {
	if forms[s.Do] == linkLast {
		return cut
	}
	return s.Do
}

// faultOf returns the fault that a schedule shows: the one that it was played for, "" for none, if it has a step of it,
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
