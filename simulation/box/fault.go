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

// faultKind is a fault. Its own steps do these things.
type faultKind struct {
	name string
	own  []verb
	// random are the ways in which random schedules have it: the steps that begin it, and those that end it. C is a
	// client, and S are servers.
	random [][2]string
	// once: a random schedule has it at most once.
	once bool
	// limits are what the lock of the Redis document shows in the cases: on several servers Redlock, on one server
	// SET NX PX with a delete that compares. TestLimits plays it.
	limits []Kind
}

// bothHold are the limits under a fault that makes a majority forget the lock.
var bothHold = []Kind{TwoHolders, StaleWrite}

// faultKinds are the faults. A schedule with steps of several faults is one of that with the most limits, because
// those of its findings are not the client's own. If several have as many, it is one of the last of them, because the
// others only prepare it.
var faultKinds = []faultKind{
	{name: noFault, own: []verb{waits}},
	{name: "pause", own: []verb{pause, sends}, random: [][2]string{{"pause C", "resume C, C writes"}, {"C sends", "C lands"}}, limits: []Kind{StaleWrite, LostUpdate}},
	{name: "crash", own: []verb{kill}, random: [][2]string{{"kill C", "spawn C"}}},
	{name: "network", own: []verb{cut}, random: [][2]string{{"cut C S", "heal C S"}, {"delay C S", "heal C S"}, {"hold C S", "heal C S"}, {"lose C S", "heal C S"}}},
	{name: "hang", own: []verb{hang}, random: [][2]string{{"hang S", "wake S"}}},
	// Servers that start are empty: that is another fault.
	{name: "stop", own: []verb{stop}, random: [][2]string{{"stop S", "start S"}}, once: true},
	{name: "restart", own: []verb{start}, random: [][2]string{{"stop S, start S", ""}}, limits: bothHold},
	{name: "old data", own: []verb{save}, random: [][2]string{{"save S", ""}, {"stop S, start S", ""}}, limits: bothHold},
	{name: "flush", own: []verb{flush}, random: [][2]string{{"flush S", ""}}, limits: bothHold},
	// Once, because the clocks of two minorities may be those of a majority.
	{name: clockFault, own: []verb{ahead, behind}, random: [][2]string{{"ahead S", "right S"}, {"behind S", "right S"}}, once: true, limits: bothHold},
	// No server fails twice.
	{name: "failover", own: []verb{fail}, random: [][2]string{{"follow S, lag S", "fail S"}}, once: true, limits: bothHold},
	{name: "address", own: []verb{move}, random: [][2]string{{"move S", "home S"}}, limits: bothHold},
	{name: evenNumber, own: []verb{stop, cut}, random: [][2]string{{"stop S", "start S"}}, once: true},
}

// Faults returns all faults.
func Faults() []string {
	var all []string
	for _, f := range faultKinds {
		all = append(all, f.name)
	}
	return all
}

// place is that of a fault among all.
func place(fault string) int { return slices.Index(Faults(), fault) }

// Limits are the kinds of findings that the lock of the Redis document shows under a fault.
func Limits(fault string) []Kind { return faultNamed(fault).limits }

// isLimit reports whether a finding is a limit. Where the document's lock has two holders, late writes follow.
func isLimit(fault string, kind Kind) bool {
	limits := Limits(fault)
	return slices.Contains(limits, kind) || kind == LostUpdate && slices.Contains(limits, TwoHolders)
}

// faultNamed returns the fault with the name, or an empty one.
func faultNamed(name string) faultKind {
	for _, f := range faultKinds {
		if f.name == name {
			return f
		}
	}
	return faultKind{}
}

// faultVerb is what a step does, or cut if it is done to a link.
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
	most := noFault
	for _, f := range faultKinds[1 : len(faultKinds)-1] { // neither none nor the even number, which fit many
		if has(f.name) && len(f.limits) >= len(Limits(most)) {
			most = f.name
		}
	}
	return most
}
