package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// each repeats a fault for each of the servers, whose names are letters.
func each(servers string, f fault.Fault) simulation.Schedule {
	var s simulation.Schedule
	for _, server := range servers {
		f.Server = string(server)
		s = append(s, f)
	}
	return s
}

// cut loses all messages between a client and servers for a while, or until the end.
func cut(client string, from, length time.Duration, servers string) simulation.Schedule {
	return each(servers, fault.Fault{Kind: fault.Cut, Process: client, At: at(from), For: length})
}

// delayed delays c1's first requests of a kind to servers. Redlock's own is the command.
func delayed(op, command string, by time.Duration, servers string) (s simulation.Schedule) {
	for _, name := range []string{op, command} {
		s = append(s, each(servers, fault.Fault{Kind: fault.Delay, Process: "c1", Op: name, Nth: 1, By: by})...)
	}
	return s
}

// pausedWrite pauses c1 just before its first write.
func pausedWrite(length time.Duration) fault.Fault {
	return fault.Fault{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: length}
}

// crashedWrite crashes c1 just before its first write.
var crashedWrite = fault.Fault{Kind: fault.Crash, Process: "c1", Op: "write", Nth: 1}

// atVictim has the faults hit the server C in the scenario's schedule, and A in the
// schedule for designs on one server. c1 does not reach D and E.
func (s Scenario) atVictim(faults ...fault.Fault) Scenario {
	s.Schedule, s.Alone = cut("c1", -50*ms, 0, "DE"), nil
	for _, f := range faults {
		s.Schedule = append(s.Schedule, each("C", f)...)
		s.Alone = append(s.Alone, each("A", f)...)
	}
	return s
}

// secondAsks are the scripts of a client that has the lock for five seconds, and of one that asks soon.
var secondAsks = clients(twoUpdates(0, 5*time.Second), turn(200*ms, time.Second))

// oneVoteLost is the scenario in which c1 has the lock on A, B and C, or on the only
// server, and faults hit its vote on C, or on A. Then c2 asks for the lock.
func oneVoteLost(s Scenario, faults ...fault.Fault) Scenario {
	s.Scripts = secondAsks
	return s.atVictim(faults...)
}

var (
	// overlap is the result of oneVoteLost without a countermeasure: c1 continues under
	// its lease after c2 had one.
	overlap = breaks(record.StaleWrite, record.TwoHolders).reaching("c2 acquired")
	// refusedSecond is the result with a countermeasure.
	refusedSecond = none.reaching("c2 refused", "c1 write").without("c2 acquired")
	// quarantined is the result with a quarantine after a restart.
	quarantined = refusedSecond.reaching("a quarantine began: restarted")
)
