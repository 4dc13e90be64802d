package instance

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// A decision is what a script does for one request, worked out from what was found on the
// server: its reply, and its writes. It is for servers without Lua. watched.go carries it out,
// and has the argument why that is as good as a script.
//
// decide is the scripts once more, branch by branch, and upholds the four properties at the
// head of acquire.lua for the same reasons. A test compares the two on a real server, on
// states drawn at random, with the same clock: TestDecisionsAreThoseOfTheScripts.
//
// One thing differs. A script sets a counter; a decision adds to it. On the server that was
// read, that is the same. If a proxy has changed the server underneath, which is noticed
// only afterwards, the counter there is raised for nothing. It is never lowered.

// decision is a script's reply (a result, or the text of an error) and the writes that go
// with it.
type decision struct {
	result  result
	failure string // an error as a script returns it, empty if there is none
	writes  []write
	freed   bool  // a lock that a transaction had set is deleted
	lifted  int64 // the token that the counter has then at least, 0 if the request asks for none
}

// write is one command and the reply that it gets if it does what it is for.
type write struct {
	args []any
	want string
}

// found is what a request finds on the server.
type found struct {
	clock       int64  // microseconds
	server      string // INFO server, for a mark
	replication string // INFO replication, if the request names a run
	mark        reading
	lock        reading
	counter     reading
	text        reading // the text beside the counter
}

// reading is what was read of one key.
type reading struct {
	exists bool
	value  string // its beginning, if it is long; empty if there is an error
	ttl    int64  // PTTL
	err    string // an error reply to the reading
}

// holds reports whether the key holds a value.
func (r reading) holds(value string) bool { return r.exists && r.err == "" && r.value == value }

// wrongType reports whether the key holds something that is no string.
func (r reading) wrongType() bool { return strings.Contains(r.err, "WRONGTYPE") }

// maxHeld is how much is read of a lock's value, see look.lua.
const maxHeld = 16384

// step is a request, as decide needs it.
type step struct {
	req     *wire.Request
	ttl     int64
	quarter int64
	ahead   int64
	reserve int64
	token   uint64
	keySet  bool   // a transaction may have set the key, but did not grant the lock
	set     string // the set's text

	lock, counter, text string // the keys
}

// fenced reports whether the request uses the counter.
func (s *step) fenced() bool { return s.req.Fence.On || s.req.Op == wire.Raise }

// decide says what a script does on a server where this was found.
func (s *step) decide(f *found) decision {
	//guard:decision-compares-run  a decision writes nothing in another run than the request names
	if failure := s.otherRun(f); failure != "" {
		return decision{failure: failure}
	}
	var d decision
	switch s.req.Op {
	case wire.Acquire:
		d = s.acquire(f)
	case wire.Raise:
		d = s.raise(f)
	case wire.Restore:
		d = s.restore(f)
	case wire.Extend:
		d = s.extend(f)
	case wire.Release:
		d = s.release(f)
	case wire.Look:
		d = s.look(f)
	default: // Tick
		d = decision{result: result{outcome: scriptGranted}}
	}
	d.result.clock = time.UnixMicro(f.clock)
	return d
}

var (
	masterID = regexp.MustCompile(`master_replid:(\S+)`)
	masterIs = regexp.MustCompile(`role:(\S+)`)
	markedBy = regexp.MustCompile(`/([^@/]*)(@[0-9]+) `)
)

// otherRun is run.lua.
func (s *step) otherRun(f *found) string {
	run := s.req.Run
	if run == "" {
		return ""
	}
	mark := f.mark
	if run.Epoch() != "" && mark.err != "" && !mark.wrongType() {
		return mark.err
	}
	if inRun(run, []byte(f.replication), []byte(mark.value)) {
		return ""
	}
	id, role := firstOf(masterID, f.replication, "-"), firstOf(masterIs, f.replication, "-")
	if m := markedBy.FindStringSubmatch(mark.value); m != nil && m[1] == id {
		id += m[2]
	}
	return otherRun + " " + role + " " + id
}

// firstOf returns the first group of a pattern's first match, or a default.
func firstOf(pattern *regexp.Regexp, text, otherwise string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return otherwise
}

// acquire is acquire.lua.
func (s *step) acquire(f *found) decision {
	held, replaced := f.lock, s.req.Replace
	if held.err != "" && !held.wrongType() {
		return decision{failure: held.err}
	}
	if s.keySet {
		replaced = s.req.Value
	}
	// without is a decision that doesn't grant the lock.
	without := func(d decision) decision {
		//guard:decision-frees-lock  a lock that a transaction has set isn't left set if a decision doesn't grant it
		if s.keySet && held.holds(s.req.Value) {
			d.writes, d.freed = []write{{[]any{"DEL", s.lock}, ":1"}}, true
		}
		return d
	}
	var known string
	if s.fenced() {
		theirs, run, failure := s.readSet(f.text)
		switch {
		case failure != "":
			return without(decision{failure: failure})
		case theirs != "":
			return without(decision{result: result{outcome: scriptOtherSet, text: []byte(theirs)}})
		}
		known = run
	}
	//guard:late-decision-sets-nothing  a decision that follows a transaction sets no key that was deleted meanwhile
	gone := !held.exists && s.keySet
	//guard:decision-free-key-only  a decision grants a lock only where its key is free or has the value to be replaced
	if gone || held.exists && (replaced == "" || !held.holds(replaced)) {
		return decision{result: result{outcome: scriptRefused, ttl: held.ttl}}
	}
	d := decision{result: result{outcome: scriptGranted}}
	if s.fenced() {
		token, spare, writes, failure := s.count(f, known)
		if failure != "" {
			return without(decision{failure: failure})
		}
		d.result.token, d.result.ttl, d.writes, d.lifted = token, spare, writes, token
		if f.text.exists && !f.text.holds(s.written(f)) {
			d.result.text = []byte{}
		}
	}
	if held.exists && !held.holds(s.req.Value) {
		d.result.outcome = scriptReplaced
	}
	d.writes = append(d.writes, s.setLock(held.exists))
	return d
}

// setLock sets the lock's key, which exists or doesn't.
func (s *step) setLock(exists bool) write {
	condition := "NX"
	if exists {
		condition = "XX"
	}
	//guard:decision-key-expires  a key that a decision sets is gone after its TTL
	return write{[]any{"SET", s.lock, s.req.Value, condition, "PX", s.ttl}, "+OK"}
}

var (
	besideText = regexp.MustCompile(`(?s)^([^/]*) [0-9]+/[0-9]+ (.*)$`)
	setText1   = regexp.MustCompile(`^([^@]*)@([0-9]+) N=[0-9]+ Q=[0-9]+ MaxTTL=[0-9A-Za-z.]+$`)
)

// maxText is the length beyond which a text beside a counter is none, see counter.lua.
const maxText = 512

const notAText = badCounter + " the text beside the counter is not a set, a period and a run"

// readSet is readset in counter.lua: another set, after which this one must not lock; or the
// run that is known; or an error.
func (s *step) readSet(text reading) (theirs, known, failure string) {
	switch {
	case text.err != "":
		return "", "", text.err
	case !text.exists:
		return "", "", ""
	}
	m := besideText.FindStringSubmatch(text.value)
	if m == nil || len(text.value) > maxText {
		return "", "", notAText
	}
	//guard:decision-compares-set  a decision refuses a client with another set of instances
	if m[1] != s.set && !supersedes(s.set, m[1]) {
		return m[1], "", ""
	}
	return "", m[2], ""
}

// supersedes is supersedes in counter.lua.
func supersedes(mine, theirs string) bool {
	m, t := setText1.FindStringSubmatch(mine), setText1.FindStringSubmatch(theirs)
	if m == nil || t == nil || m[1] != t[1] {
		return false
	}
	if len(m[2]) != len(t[2]) {
		return len(m[2]) > len(t[2])
	}
	return m[2] > t[2]
}

// count is count in counter.lua: the last token, how many are reserved, and the writes; or an
// error.
func (s *step) count(f *found, known string) (token, spare int64, writes []write, failure string) {
	if f.counter.err != "" {
		return 0, 0, nil, f.counter.err
	}
	var before int64
	if f.counter.exists {
		n, err := strconv.ParseInt(f.counter.value, 10, 64)
		// INCR takes a number in one spelling only.
		if err != nil || strconv.FormatInt(n, 10) != f.counter.value || n == math.MaxInt64 {
			return 0, 0, nil, badCounter + " the counter is not a whole number"
		}
		before = n
	}
	//guard:decision-counts  each grant by a decision raises the counter
	counted := before + 1
	//guard:decision-bounded  no decision takes a counter further ahead of the clock than the client allows
	most := min(f.clock+s.ahead, int64(fencing.MaxToken))
	token = counted
	//guard:decision-from-clock  a decision goes on from the clock if the counter was lost, or is of another run, or newly made
	if counted < lostBelow || s.req.Run != "" && string(s.req.Run) != known || known == "?" {
		token = max(counted, f.clock+1)
		//guard:decision-start-bounded  no decision starts a counter further ahead of the clock than the client allows
		if start := int64(s.token); start <= most {
			token = max(token, start)
		}
	}
	switch {
	case counted < 1:
		return 0, 0, nil, badCounter + " the counter is no token"
	case token > most:
		return 0, 0, nil, fmt.Sprintf("%s %.0f %d", badCounter, float64(token), f.clock)
	}
	//guard:decision-reserves-below-clock  a decision reserves no token above the clock
	spare = max(0, min(s.reserve, f.clock-token))
	same := token == counted
	token += spare
	written := s.written(f)
	//guard:decision-keeps-run  a decision for a client that doesn't know the run keeps the one that others wrote
	if s.req.Run == "" && known != "?" {
		written += known
	}
	writes = []write{s.add(token, before)}
	if !same || !f.text.holds(written) {
		writes = append(writes,
			//guard:decision-counter-lives-on  a decision that writes the text gives the counter the whole time to live again
			write{[]any{"PEXPIRE", s.counter, 6 * s.quarter}, ":1"},
			write{[]any{"SET", s.text, written, "PX", 6 * s.quarter}, "+OK"})
	}
	return token, spare, writes, ""
}

// written is the text that a grant writes if the client knows the run.
func (s *step) written(f *found) string {
	return fmt.Sprintf("%s %d/%d %s", s.set, s.quarter, f.clock/(s.quarter*1000), s.req.Run)
}

// add raises the counter from what it was to a token.
func (s *step) add(token, before int64) write {
	return write{[]any{"INCRBY", s.counter, token - before}, ":" + strconv.FormatInt(token, 10)}
}

// tokenOf is token.lua: a counter's token, 0 if there is none.
func tokenOf(counter reading) (token int64, failure string) {
	if counter.err != "" {
		return 0, counter.err
	}
	if !counter.exists || counter.value == "0" {
		return 0, ""
	}
	n, err := strconv.ParseInt(counter.value, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != counter.value || n < 1 || n > int64(fencing.MaxToken) {
		return 0, badCounter + " the counter is not a token"
	}
	return n, ""
}

// lift is lift.lua: a grant, or an error. left is the TTL that the counter has then.
func (s *step) lift(f *found) (d decision, left int64) {
	held, failure := tokenOf(f.counter)
	if failure != "" {
		return decision{failure: failure}, 0
	}
	d.result.outcome = scriptGranted
	token := int64(s.token)
	d.lifted = token
	//guard:decision-lift-bounded  no decision settles a token that is further ahead of the clock than the client allows
	if token > f.clock+s.ahead {
		return decision{failure: fmt.Sprintf("%s %d %d", badCounter, token, f.clock)}, 0
	}
	left = f.counter.ttl
	stale := left < 4*s.quarter
	if stale {
		left = 6 * s.quarter
	}
	//guard:decision-only-lifts  a decision never lowers a counter
	if held < token {
		d.writes = append(d.writes, s.add(token, held))
	}
	if stale {
		d.writes = append(d.writes, write{[]any{"PEXPIRE", s.counter, left}, ":1"})
		if f.text.exists {
			d.writes = append(d.writes, write{[]any{"PEXPIRE", s.text, left}, ":1"})
		}
	}
	return d, left
}

// raise is raise.lua.
func (s *step) raise(f *found) decision {
	if f.lock.err != "" {
		return decision{failure: f.lock.err}
	}
	//guard:decision-raise-compares  a decision raises nothing where the key isn't the lease's any more
	if !f.lock.holds(s.req.Value) {
		return decision{}
	}
	d, _ := s.lift(f)
	return d
}

// restore is restore.lua.
func (s *step) restore(f *found) decision {
	held := f.lock
	if held.err != "" {
		return decision{failure: held.err}
	}
	//guard:decision-restore-compares  a decision puts no lease back over another holder's key
	if held.exists && !held.holds(s.req.Value) {
		return decision{}
	}
	d := decision{result: result{outcome: scriptGranted}}
	if s.fenced() {
		if f.text.err != "" {
			return decision{failure: f.text.err}
		}
		var left int64
		if d, left = s.lift(f); d.failure != "" {
			return d
		}
		if !f.text.exists {
			d.writes = append(d.writes, write{[]any{"SET", s.text, s.set + " 0/0 ", "PX", left}, "+OK"})
		}
	}
	if !held.exists {
		d.writes = append(d.writes, s.setLock(false))
	}
	return d
}

// extend is extend.lua.
func (s *step) extend(f *found) decision {
	//guard:decision-extend-compares  a decision extends only the holder's key
	if !f.lock.holds(s.req.Value) {
		return decision{}
	}
	return decision{result: result{outcome: scriptGranted}, writes: []write{{[]any{"PEXPIRE", s.lock, s.ttl}, ":1"}}}
}

// release is release.lua, for a server that notifies nobody.
func (s *step) release(f *found) decision {
	//guard:decision-delete-compares  a decision deletes only the holder's key
	if !f.lock.holds(s.req.Value) {
		return decision{}
	}
	return decision{result: result{outcome: scriptGranted}, writes: []write{{[]any{"DEL", s.lock}, ":1"}}}
}

// look is look.lua.
func (s *step) look(f *found) decision {
	if f.lock.err != "" {
		return decision{failure: f.lock.err}
	}
	var d decision
	if s.fenced() {
		if d.result.token, d.failure = tokenOf(f.counter); d.failure != "" {
			return d
		}
	}
	if !f.lock.exists {
		d.result.outcome = scriptGranted
		return d
	}
	d.result.outcome, d.result.ttl = scriptRefused, f.lock.ttl
	d.result.text = []byte(f.lock.value[:min(len(f.lock.value), maxHeld)])
	return d
}

var (
	processID  = regexp.MustCompile(`run_id:(\S+)`)
	secondID   = regexp.MustCompile(`master_replid2:(\S+)`)
	wholeMark  = regexp.MustCompile(`^([^/ \t-\r]*)/([^@ \t-\r]*)@([0-9]+) ([0-9]+) ([^@ \t-\r]*)@([0-9]*)@([0-9]*)$`)
	noMarkHere = "ERR a mark is not supported: INFO has no run_id and no master_replid"
)

// decideMark is mark.lua, which has the reasons.
func decideMark(key string, known wire.Known, f *found) decision {
	refused := decision{result: result{outcome: scriptRefused, clock: time.UnixMicro(f.clock)}}
	if !strings.Contains(f.replication, "role:master") {
		return refused
	}
	process, id := firstOf(processID, f.server, ""), firstOf(masterID, f.replication, "")
	if process == "" && id == "" {
		return decision{failure: noMarkHere}
	}
	if f.mark.err != "" && !f.mark.wrongType() {
		return decision{failure: f.mark.err}
	}
	promoted := strings.Trim(firstOf(secondID, f.replication, ""), "0") != ""
	left := f.mark.exists && f.mark.err == ""
	m := wholeMark.FindStringSubmatch(f.mark.value)
	//guard:decision-mark-of-this-run  a mark counts only in the run in which it was left, also without a script
	ours := left && m != nil && m[1] == process // it is of this process
	if m == nil {
		m = make([]string, 8)
	}
	marked, epoch, was, before := m[2], m[3], m[5], m[6]
	// at reads a time, at most the present one.
	at := func(digits string) int64 {
		n, err := strconv.ParseUint(digits, 10, 63)
		if digits == "" || err != nil || int64(n) > f.clock {
			return f.clock
		}
		return int64(n)
	}
	since, from := at(m[4]), at(m[7])
	lately := process != "" && known.RunID == process && known.Lately && !promoted
	elsewhere := known.Voter != "" && known.Voter != process && !(known.RunID == process && known.Marked)
	//guard:decision-mark-of-this-name  a client that had another server's votes meanwhile writes the mark anew, also without a script
	clean := func(at int64) bool { return !elsewhere || f.clock-at < known.Ago.Microseconds() }
	switch {
	case !ours:
		was = ""
	case marked != id && clean(since) && lately && known.Run.ReplID() == marked:
		was = ""
	case marked != id && clean(since) && !promoted:
		ours, was, before, from = false, marked, epoch, since
	case marked != id || !clean(since):
		ours, was = false, ""
	case was != "" && !clean(from):
		was = ""
	case lately && was != "" && known.Run.ReplID() == was:
		epoch, since, was = before, from, ""
	}
	if !ours {
		epoch, since = strconv.FormatInt(f.clock, 10), f.clock
	}
	mark := fmt.Sprintf("%s/%s@%s %d ", process, id, epoch, since)
	if was == "" {
		mark += "@@"
	} else {
		mark += fmt.Sprintf("%s@%s@%d", was, before, from)
	}
	d := decision{result: result{
		outcome: scriptGranted, text: []byte(process + "/" + id + "@" + epoch), token: f.clock - since, clock: time.UnixMicro(f.clock),
	}}
	if !left || mark != f.mark.value {
		d.writes = []write{{[]any{"SET", key, mark}, "+OK"}}
	}
	return d
}
