package box

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step is one step: what a client does, or a fault.
type Step struct {
	Do verb
	// Client is the client's name: c1, c2, c3. Not for the faults of servers.
	Client string
	// Servers are the servers' letters, such as "AB". Only for faults of servers and links.
	Servers string
	// By is how far a clock is set, or by how much answers are late.
	By time.Duration
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
	evict  verb = "evict"  // live: is filled until it evicts that key
	ahead  verb = "ahead"  // its clock is set ahead by two TTLs, or by a time, as in "ahead A 60s"
	behind verb = "behind" // its clock is set back by ten TTLs, or by a time
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
	slow  verb = "slow"  // answers are late by half a TTL, or by a time, as in "slow c1 A 200ms", half of it on the way to the server
	delay verb = "delay" // requests are held back until heal, and then arrive
	hold  verb = "hold"  // replies are held back until heal
	lose  verb = "lose"  // replies are lost
	miss  verb = "miss"  // live: the next reply is lost
	snare verb = "snare" // live: the next request about the lock is held back, and what follows on its connection
	trap  verb = "trap"  // the second request about the lock is held back, and what follows on its connection
	free  verb = "free"  // what was trapped arrives
	heal  verb = "heal"  // all is as before, except for what is trapped
)

// form is which words a step has beside its verb, and which of them comes first.
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
		{hang, wake, stop, start, save, flush, evict, ahead, behind, right, move, home, follow, lag, fail, await, gone},
		{cut, slow, delay, hold, lose, miss, snare, trap, free, heal},
	} {
		for _, do := range verbs {
			forms[do] = form(f)
		}
	}
}

// ofALock are the steps of servers and links that are about a lock.
var ofALock = []verb{evict, await, gone, miss, snare, trap, free}

// letters name the servers.
const letters = "ABCDEFGHI"

// clientNames are those that a schedule may use.
var clientNames = []string{"c1", "c2", "c3", "c4", "c5"}

// String returns the step as ParseStep reads it.
func (s Step) String() string {
	words := []string{string(s.Do), s.Client, s.Servers}
	if forms[s.Do] == clientFirst {
		words = []string{s.Client, string(s.Do)}
	}
	if s.By != 0 {
		words = append(words, s.By.String())
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}

// ParseStep reads a step, such as "c1 waits", "pause c1", "hang AB", "cut c1 AB" or "ahead A 60s". A link's step
// without a client is about the links that all clients share, see Fleet.
func ParseStep(text string) (s Step, err error) {
	words := strings.Fields(text)
	for i, word := range words {
		by, noTime := time.ParseDuration(word)
		switch _, known := forms[verb(word)]; {
		case known && s.Do == "":
			s.Do = verb(word)
		case slices.Contains(clientNames, word) && s.Client == "":
			s.Client = word
		case s.Servers == "" && strings.Trim(word, letters) == "":
			s.Servers = word
		case noTime == nil && s.By == 0:
			s.By, words[i] = by, by.String()
		default:
			return Step{}, fmt.Errorf("box: %q in the step %q is no verb, client, server or time; servers are capital letters", word, text)
		}
	}
	f := forms[s.Do]
	switch {
	case s.Do == "" || s.String() != strings.Join(words, " ") || (f >= serversLast) != (s.Servers != "") ||
		f != linkLast && (f == serversLast) != (s.Client == ""):
		return s, fmt.Errorf("box: %q is no step; want one such as %s", text, examples)
	case s.By < 0 || s.By > longestBy:
		return s, fmt.Errorf("box: the step %q has the time %v, want more than 0 and up to a year", text, s.By)
	case s.By != 0 && s.Do != slow && s.Do != ahead && s.Do != behind:
		return s, fmt.Errorf("box: the step %q has a time; only %s, %s and %s have one", text, slow, ahead, behind)
	}
	return s, nil
}

// examples are steps of each form.
const examples = `"c1 waits", "pause c1", "hang AB" or "cut c1 AB"`

// longestBy is the longest Step.By.
const longestBy = 365 * 24 * time.Hour

// MarshalText returns String.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseStep.
func (s *Step) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStep(string(text))
	return err
}
