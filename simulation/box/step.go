package box

import (
	"fmt"
	"slices"
	"strings"
)

// Schedule is what happens in a play, step by step.
type Schedule []Step

// Step is one step: what a client does, or a fault.
type Step struct {
	Do verb
	// Client is the client's name: c1, c2, c3. Not for the faults of servers.
	Client string
	// Servers are the servers' letters, such as "AB". Only for faults of servers and links.
	Servers string
}

// verb is what is done in a step.
type verb string

// What clients do. A client that can't do it, because it is paused, dead or has no lock, does
// nothing.
const (
	waits    verb = "waits"    // waits for the lock, for as long as four TTLs
	gets     verb = "gets"     // waits for a third of a TTL, and has to get the lock
	tries    verb = "tries"    // asks for the lock once
	begins   verb = "begins"   // tries, and the answer comes in a later step
	queues   verb = "queues"   // waits, and the answer comes in a later step
	ends     verb = "ends"     // gets that answer
	checks   verb = "checks"   // looks whether it still holds the lock
	extends  verb = "extends"  // renews its lease
	reads    verb = "reads"    // reads the resource
	writes   verb = "writes"   // writes what it has read, plus one, without another check
	sends    verb = "sends"    // does so, and the write is executed in a later step
	lands    verb = "lands"    // that write is executed
	works    verb = "works"    // checks, reads, writes
	releases verb = "releases" // gives the lock back
)

// Faults, and what ends them.
const (
	pause  verb = "pause"  // SIGSTOP to a client
	resume verb = "resume" // SIGCONT
	kill   verb = "kill"   // SIGKILL to a client
	spawn  verb = "spawn"  // a new process takes the place of a killed client
	hang   verb = "hang"   // SIGSTOP to servers
	wake   verb = "wake"   // SIGCONT
	stop   verb = "stop"   // SIGKILL to servers
	start  verb = "start"  // start them again, empty or with what they have saved
	save   verb = "save"   // servers save their data
	flush  verb = "flush"  // servers lose their data
	drop   verb = "drop"   // servers lose the lock's key
	evict  verb = "evict"  // servers are filled until they evict it
	ahead  verb = "ahead"  // servers' clocks jump, to two TTLs ahead
	behind verb = "behind" // servers' clocks are set back by ten TTLs
	right  verb = "right"  // servers' clocks are right again
	move   verb = "move"   // servers' addresses lead to other servers; open connections stay
	home   verb = "home"   // they lead back
	follow verb = "follow" // servers get a replica
	lag    verb = "lag"    // a replica of each gets nothing more
	fail   verb = "fail"   // masters die, and a replica that lags takes over
	await  verb = "await"  // no fault: waits until servers have the lock's key
	gone   verb = "gone"   // no fault: waits until they don't
	cut    verb = "cut"    // a client's connections to servers break, and no new one is made
	delay  verb = "delay"  // a client's requests are held back until heal, and then arrive
	hold   verb = "hold"   // replies to a client are held back until heal
	lose   verb = "lose"   // replies to a client are lost
	miss   verb = "miss"   // the next reply to a client is lost
	snare  verb = "snare"  // a client's next request about the lock is held back, and what follows on its connection
	trap   verb = "trap"   // its second request about the lock
	free   verb = "free"   // what was trapped arrives
	heal   verb = "heal"   // the links to servers are as at first, but for what is trapped
)

// form is where a step's client and servers stand.
type form int

const (
	clientFirst form = iota // c1 waits
	clientLast              // pause c1
	serversLast             // hang AB
	linkLast                // cut c1 AB
)

var forms = map[verb]form{
	waits: clientFirst, gets: clientFirst, tries: clientFirst, begins: clientFirst, queues: clientFirst, ends: clientFirst, checks: clientFirst,
	extends: clientFirst, reads: clientFirst, writes: clientFirst, sends: clientFirst, lands: clientFirst, works: clientFirst, releases: clientFirst,
	pause: clientLast, resume: clientLast, kill: clientLast, spawn: clientLast,
	hang: serversLast, wake: serversLast, stop: serversLast, start: serversLast, save: serversLast, flush: serversLast, drop: serversLast,
	evict: serversLast, ahead: serversLast, behind: serversLast, right: serversLast, move: serversLast, home: serversLast,
	follow: serversLast, lag: serversLast, fail: serversLast, await: serversLast, gone: serversLast,
	cut: linkLast, delay: linkLast, hold: linkLast, lose: linkLast, miss: linkLast, snare: linkLast, trap: linkLast, free: linkLast, heal: linkLast,
}

// letters name the servers.
const letters = "ABCDEFGHI"

// clientNames are those that a schedule may use.
var clientNames = []string{"c1", "c2", "c3", "c4", "c5"}

// String returns the step as ParseStep reads it.
func (s Step) String() string {
	switch forms[s.Do] {
	case clientFirst:
		return s.Client + " " + string(s.Do)
	case clientLast:
		return string(s.Do) + " " + s.Client
	case serversLast:
		return string(s.Do) + " " + s.Servers
	default:
		return string(s.Do) + " " + s.Client + " " + s.Servers
	}
}

// ParseStep reads a step, such as "c1 waits", "pause c1", "hang AB" or "cut c1 AB".
func ParseStep(text string) (Step, error) {
	words := strings.Fields(text)
	var s Step
	for _, word := range words {
		switch _, known := forms[verb(word)]; {
		case known && s.Do == "":
			s.Do = verb(word)
		case slices.Contains(clientNames, word) && s.Client == "":
			s.Client = word
		case s.Servers == "" && strings.Trim(word, letters) == "":
			s.Servers = word
		default:
			return Step{}, fmt.Errorf("box: %q in the step %q is no step's word, client or server", word, text)
		}
	}
	if s.Do == "" || s.String() != strings.Join(words, " ") {
		return Step{}, fmt.Errorf(`box: %q is no step, which are such as "c1 waits", "pause c1", "hang AB" or "cut c1 AB"`, text)
	}
	return s, nil
}

// MarshalText returns String.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseStep.
func (s *Step) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStep(string(text))
	return err
}

// clients returns the names of the schedule's clients, sorted.
func (s Schedule) clients() []string {
	names := map[string]bool{}
	for _, step := range s {
		if step.Client != "" {
			names[step.Client] = true
		}
	}
	var all []string
	for _, name := range clientNames {
		if names[name] {
			all = append(all, name)
		}
	}
	return all
}

// needsClocks reports whether it is for servers with clocks and disks of their own.
func (s Schedule) needsClocks() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return slices.Contains([]verb{ahead, behind, right}, step.Do) })
}

// validate says what is wrong with the schedule for n servers.
func (s Schedule) validate(n int) error {
	for _, step := range s {
		if strings.Trim(step.Servers, letters[:n]) != "" {
			return fmt.Errorf("box: the step %q names a server that isn't there; there are %d, %s", step, n, letters[:n])
		}
	}
	return nil
}
