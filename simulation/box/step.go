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

// What a client does, as in "c1 waits". A client that can't do it, because it is paused, dead or has no
// lock, does nothing. The comments are in the manual, but for those of "live", whose words are only in
// the scenarios of redlocksim live.
const (
	waits    verb = "waits"    // asks for the lock, and waits up to four TTLs
	gets     verb = "gets"     // live: waits for a third of a TTL, and has to get the lock
	tries    verb = "tries"    // asks once
	begins   verb = "begins"   // asks once, with the answer in a later step
	queues   verb = "queues"   // waits, with the answer in a later step
	ends     verb = "ends"     // gets that answer
	checks   verb = "checks"   // asks the client whether it holds the lock
	extends  verb = "extends"  // renews its lease
	reads    verb = "reads"    // reads the resource
	writes   verb = "writes"   // writes what it has read, plus one; without a check if it was stopped since the last one
	sends    verb = "sends"    // the same, but the write is executed in a later step
	lands    verb = "lands"    // that write is executed
	works    verb = "works"    // checks, reads, writes
	releases verb = "releases" // gives the lock back
)

// What is done to a client's process, as in "pause c1".
const (
	pause  verb = "pause"  // stops it (SIGSTOP)
	resume verb = "resume" // lets it go on
	kill   verb = "kill"   // kills it
	spawn  verb = "spawn"  // starts a new process in its place
)

// What is done to servers, as in "hang AB".
const (
	hang   verb = "hang"   // stops it (SIGSTOP)
	wake   verb = "wake"   // lets it go on
	stop   verb = "stop"   // kills it
	start  verb = "start"  // starts it again, empty or with what it has saved
	save   verb = "save"   // saves its data
	flush  verb = "flush"  // loses its data
	drop   verb = "drop"   // live: loses the lock's key
	evict  verb = "evict"  // live: is filled until it evicts that key
	ahead  verb = "ahead"  // its clock jumps, to two TTLs ahead
	behind verb = "behind" // its clock is set back by ten TTLs
	right  verb = "right"  // its clock is right again
	move   verb = "move"   // its address leads to another server; open connections stay
	home   verb = "home"   // its address leads back
	follow verb = "follow" // gets a replica
	lag    verb = "lag"    // its replica gets nothing more
	fail   verb = "fail"   // dies, and the replica that lags takes over
	await  verb = "await"  // live: waits until it has the lock's key
	gone   verb = "gone"   // live: waits until it doesn't have it
)

// What is done to a client's links to servers, as in "cut c1 AB".
const (
	cut   verb = "cut"   // connections break, and no new one is made
	delay verb = "delay" // requests are held back until heal, and then arrive
	hold  verb = "hold"  // replies are held back until heal
	lose  verb = "lose"  // replies are lost
	miss  verb = "miss"  // live: the next reply is lost
	snare verb = "snare" // live: the next request about the lock is held back, and what follows on its connection
	trap  verb = "trap"  // the second request about the lock is held back, and what follows on its connection
	free  verb = "free"  // what was trapped arrives
	heal  verb = "heal"  // all is as before, except for what is trapped
)

// form is where a step's client and servers stand.
type form int

const (
	clientFirst form = iota // c1 waits
	clientLast              // pause c1
	serversLast             // hang AB
	linkLast                // cut c1 AB
)

var forms = map[verb]form{}

func init() {
	for f, verbs := range [...][]verb{
		{waits, gets, tries, begins, queues, ends, checks, extends, reads, writes, sends, lands, works, releases},
		{pause, resume, kill, spawn},
		{hang, wake, stop, start, save, flush, drop, evict, ahead, behind, right, move, home, follow, lag, fail, await, gone},
		{cut, delay, hold, lose, miss, snare, trap, free, heal},
	} {
		for _, do := range verbs {
			forms[do] = form(f)
		}
	}
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
	return slices.DeleteFunc(slices.Clone(clientNames), func(name string) bool {
		return !slices.ContainsFunc(s, func(step Step) bool { return step.Client == name })
	})
}

// withoutFaults leaves only what clients do in time.
func (s Schedule) withoutFaults() Schedule {
	return slices.DeleteFunc(slices.Clone(s), func(step Step) bool { return forms[step.Do] != clientFirst || step.Do == sends })
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
