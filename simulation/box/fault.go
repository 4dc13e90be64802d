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
	own  []verb
	// random are the ways in which random schedules have it.
	random []disturbance
	// alone: a random schedule has it once, from when it begins until the end.
	alone bool
}

// disturbance is what is done to a client, to a link of a client to some servers, or to servers, and what ends it.
type disturbance struct{ begin, end []verb }

// faultKinds are the faults. A schedule with steps of several faults is one of the last of them, because the
// others only prepare it.
var faultKinds = []faultKind{
	{name: noFault, own: []verb{waits}},
	{name: "pause", own: []verb{pause, sends}, random: []disturbance{{[]verb{pause}, []verb{resume, writes}}, {[]verb{sends}, []verb{lands}}}},
	{name: "crash", own: []verb{kill}, random: []disturbance{{[]verb{kill}, []verb{spawn}}}},
	{name: "network", own: []verb{cut}, random: []disturbance{
		{[]verb{cut}, []verb{heal}}, {[]verb{delay}, []verb{heal}}, {[]verb{hold}, []verb{heal}}, {[]verb{lose}, []verb{heal}},
	}},
	{name: "hang", own: []verb{hang}, random: []disturbance{{[]verb{hang}, []verb{wake}}}},
	// Servers that start are empty: that is another fault.
	{name: "stop", own: []verb{stop}, random: []disturbance{{[]verb{stop}, []verb{start}}}, alone: true},
	{name: "restart", own: []verb{start}, random: []disturbance{{[]verb{stop, start}, nil}}},
	{name: "old data", own: []verb{save}, random: []disturbance{{[]verb{save}, nil}, {[]verb{stop, start}, nil}}},
	{name: "flush", own: []verb{flush}, random: []disturbance{{[]verb{flush}, nil}}},
	// The clocks of other servers would be of no minority any more.
	{name: clockFault, own: []verb{ahead, behind}, random: []disturbance{{[]verb{ahead}, []verb{right}}, {[]verb{behind}, []verb{right}}}, alone: true},
	// No server fails twice.
	{name: "failover", own: []verb{fail}, random: []disturbance{{[]verb{follow, lag}, []verb{fail}}}, alone: true},
	{name: "address", own: []verb{move}, random: []disturbance{{[]verb{move}, []verb{home}}}},
	{name: evenNumber, own: []verb{stop, cut}, random: []disturbance{{[]verb{stop}, []verb{start}}}, alone: true},
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
