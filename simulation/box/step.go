package box

import (
	_ "embed"
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

// The verbs of clients, and the faults. What they mean is in steps.txt. A client that can't do something,
// because it is paused, dead or has no lock, does nothing.
const (
	waits    verb = "waits"
	gets     verb = "gets"
	tries    verb = "tries"
	begins   verb = "begins"
	queues   verb = "queues"
	ends     verb = "ends"
	checks   verb = "checks"
	extends  verb = "extends"
	reads    verb = "reads"
	writes   verb = "writes"
	sends    verb = "sends"
	lands    verb = "lands"
	works    verb = "works"
	releases verb = "releases"
	pause    verb = "pause"
	resume   verb = "resume"
	kill     verb = "kill"
	spawn    verb = "spawn"
	hang     verb = "hang"
	wake     verb = "wake"
	stop     verb = "stop"
	start    verb = "start"
	save     verb = "save"
	flush    verb = "flush"
	drop     verb = "drop"
	evict    verb = "evict"
	ahead    verb = "ahead"
	behind   verb = "behind"
	right    verb = "right"
	move     verb = "move"
	home     verb = "home"
	follow   verb = "follow"
	lag      verb = "lag"
	fail     verb = "fail"
	await    verb = "await"
	gone     verb = "gone"
	cut      verb = "cut"
	delay    verb = "delay"
	hold     verb = "hold"
	lose     verb = "lose"
	miss     verb = "miss"
	snare    verb = "snare"
	trap     verb = "trap"
	free     verb = "free"
	heal     verb = "heal"
)

//go:embed steps.txt
var stepList string

// Word is a word of a schedule: an example of a step, where its client and servers stand, and what it
// means.
type Word struct {
	Example, Means string
	do             verb
	form           form
}

// Words explains the steps.
func Words() (all []Word) {
	for line := range strings.Lines(stepList) {
		example, means, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		w := Word{Example: example, Means: means}
		switch words := strings.Fields(example); {
		case len(words) == 3:
			w.do, w.form = verb(words[0]), linkLast
		case words[0] == "c1":
			w.do, w.form = verb(words[1]), clientFirst
		case words[1] == "c1":
			w.do, w.form = verb(words[0]), clientLast
		default:
			w.do, w.form = verb(words[0]), serversLast
		}
		all = append(all, w)
	}
	return all
}

// What names what the example's step is about.
func (w Word) What() string {
	return [...]string{"a client", "its process", "a server", "a client's link to a server"}[w.form]
}

// form is where a step's client and servers stand.
type form int

const (
	clientFirst form = iota // c1 waits
	clientLast              // pause c1
	serversLast             // hang AB
	linkLast                // cut c1 AB
)

var forms = func() map[verb]form {
	all := map[verb]form{}
	for _, w := range Words() {
		all[w.do] = w.form
	}
	return all
}()

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
