package instance

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// permanent is a kind of error that waiting doesn't cure: quorum's Acquire gives up
// at once when too many instances fail with one, instead of trying until its
// context ends.
type permanent string

func (p permanent) Error() string { return string(p) }

// Permanent is what quorum asks for.
func (p permanent) Permanent() bool {
	//guard:permanent-is-said  an error that waiting doesn't cure, such as a missing command, says so
	return true
}

// meaning is what a server's error answer means.
type meaning struct {
	kind error
	// todo says what to do, where the kind doesn't say it.
	todo string
}

// codes are the meanings of the first words of error answers.
var codes = map[string]meaning{
	"NOAUTH":      {ErrAuth, unasked},
	"WRONGPASS":   {ErrAuth, wrong},
	"NOPERM":      {kind: ErrPermission},
	"READONLY":    {wire.ErrNotMaster, demoted},
	"MASTERDOWN":  {wire.ErrNotMaster, demoted},
	"OOM":         {kind: ErrOutOfMemory},
	"BUSY":        {kind: ErrBusy},
	"LOADING":     {kind: ErrLoading},
	"MISCONF":     {kind: ErrMisconf},
	"NOREPLICAS":  {kind: ErrMisconf},
	"MOVED":       {kind: ErrCluster},
	"ASK":         {kind: ErrCluster},
	"CLUSTERDOWN": {kind: ErrCluster},
	"CROSSSLOT":   {kind: ErrCluster},
	"WRONGTYPE":   {kind: ErrWrongType},
	badCounter:    {wire.ErrCounter, "see its keys {resource}:redlock and {resource}:redlock:set; delete both when nobody has held the lock for MaxTTL, and no sooner, or tokens may fall"},
	"DENIED":      {kind: ErrProtected},
}

// What to do about some of them.
const (
	unasked = "it wants a password and was given none; write redis://user:password@host"
	wrong   = "check the user and the password, and that the user is on"
	demoted = "it is a replica, or was demoted to one; list masters only, and don't let anything fail over between them"
)

// phrases are the meanings of answers without a code of their own, by how they begin
// behind the ERR that most of them have.
var phrases = []struct {
	begins string
	meaning
}{
	{"Key should be of string type", meaning{kind: ErrWrongType}},
	// In scripts: before 7.0, and since 7.2.
	{"The user executing the script can't ", meaning{kind: ErrPermission}},
	{"ACL failure in script", meaning{kind: ErrPermission}},
	// An unknown client may not send as many arguments as a script has.
	{"Protocol error: unauthenticated ", meaning{ErrAuth, unasked}},
	{"unauthenticated ", meaning{ErrAuth, unasked}},
	{"invalid password", meaning{ErrAuth, wrong}},
	{"AUTH ", meaning{ErrAuth, "it has no password for this user: leave it out, or set requirepass"}},
	{"Client sent AUTH", meaning{ErrAuth, "it has no password: leave it out, or set requirepass"}},
	{"DB index is out of range", meaning{kind: ErrDatabase}},
	{"invalid DB index", meaning{kind: ErrDatabase}},
	{"SELECT is not allowed in cluster mode", meaning{kind: ErrCluster}},
	{"Script attempted to access ", meaning{kind: ErrCluster}},
	{"max number of clients", meaning{kind: ErrMaxClients}},
}

// serverError gives a server's error answer its kind. text has no leading dash.
func serverError(text string) error {
	inner, _ := withoutScript(text)
	m := meaningOf(inner)
	if m.kind == ErrCommand {
		// Behind that come the arguments, a lock's value among them.
		inner, _, _ = strings.Cut(inner, ", with args")
	}
	said := likeRedis(redis.Nil, shortened(inner))
	if m.todo != "" {
		return fmt.Errorf("%w: %s (%w)", m.kind, m.todo, said)
	}
	return fmt.Errorf("%w (%w)", m.kind, said)
}

// kindOf is an error answer's kind.
func kindOf(text string) error {
	inner, _ := withoutScript(text)
	return meaningOf(inner).kind
}

// meaningOf looks at how an answer begins, and at nothing else: further on it may
// repeat what a caller chose, the name of a key, say.
func meaningOf(text string) meaning {
	code, _, _ := strings.Cut(text, " ")
	if m, ok := codes[code]; ok {
		return m
	}
	phrase := strings.TrimPrefix(text, "ERR ")
	for _, p := range phrases {
		//guard:error-by-its-beginning  an error is known by how it begins, and not by a key in it
		if strings.HasPrefix(phrase, p.begins) {
			return p.meaning
		}
	}
	if _, unknown := lacking(text); unknown {
		return meaning{kind: ErrCommand}
	}
	return meaning{kind: ErrServer}
}

// maxAnswer bounds what an error repeats of an answer, in bytes.
const maxAnswer = 300

func shortened(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	return strings.ToValidUTF8(text[:maxAnswer], "") + "..."
}

// withoutScript takes off an error what servers before 7.0 put around it where a
// script's command met it: "ERR Error running script (call to f_...): @user_script:3:
// @user_script: 3: -OOM ...\r\n". It reports whether there was any of that.
func withoutScript(text string) (inner string, wrapped bool) {
	inner = strings.TrimSpace(text)
	for {
		rest := inner
		if after, ok := strings.CutPrefix(rest, "ERR Error running script (call to "); ok {
			if _, after, ok = strings.Cut(after, "): "); ok {
				rest = after
			}
		}
		if after, ok := strings.CutPrefix(strings.TrimPrefix(rest, "@"), "user_script:"); ok {
			after = strings.TrimLeft(strings.TrimLeft(after, " "), "0123456789")
			if after, ok = strings.CutPrefix(after, ":"); ok {
				rest = strings.TrimLeft(after, " ")
			}
		}
		rest = strings.TrimPrefix(rest, "-")
		if rest == inner {
			return inner, wrapped
		}
		inner, wrapped = rest, true
	}
}

// lacking reports whether an answer says that a command isn't there, or isn't let
// through, and gives its name in lower case, where the answer has it.
func lacking(text string) (name string, unknown bool) {
	text = strings.TrimPrefix(strings.ToLower(text), "err ")
	if strings.HasPrefix(text, "unknown redis command called from") || strings.HasPrefix(text, "this redis command is not allowed from script") {
		return "", true
	}
	for _, begins := range []string{"unknown command", "unsupported command", "command is not available"} {
		if rest, ok := strings.CutPrefix(text, begins); ok {
			rest = strings.TrimLeft(rest, " :'`\"")
			if end := strings.IndexAny(rest, " :,'`\""); end >= 0 {
				rest = rest[:end]
			}
			return rest, true
		}
	}
	return "", false
}

// nothingDone reports whether a server's error answer says that it did nothing at
// all. sent is the command that it answers, empty where a script handed on what one of
// its own commands met.
//
// Invariant: never where something may have been done; a lock's key that isn't deleted
// blocks everybody for a TTL. The states of a server (OOM, READONLY, MISCONF...) come at
// a script's first write or not at all: once it has written, the server lets it
// finish. A right, a slot or a command that is missing may be the last one's.
func nothingDone(text, sent string) bool {
	inner, wrapped := withoutScript(text)
	switch kind := meaningOf(inner).kind; kind {
	case ErrAuth, ErrOutOfMemory, ErrBusy, ErrLoading, ErrMisconf, wire.ErrNotMaster:
		return true
	case wire.ErrCounter:
		return true // the scripts see to it: the lock's key isn't left set
	case ErrPermission, ErrCluster:
		// Only of the command itself, which has a code. Since 7.0 a script's has one, too.
		_, coded := codes[strings.SplitN(inner, " ", 2)[0]]
		//guard:stopped-script-may-have-set  a script that stopped halfway may have set the key
		//guard:stopped-script-before-7  a script that servers before 7.0 say has stopped halfway may have set the key
		return coded && sent != "" && !wrapped && !strings.Contains(strings.ToLower(inner), "script")
	case ErrCommand:
		// A script can't call another one, so that one that is missing wasn't begun.
		name, _ := lacking(inner)
		//guard:missing-command-may-be-the-last  a script that lacks a command may have run those before it
		return sent != "" && !wrapped && strings.EqualFold(name, sent)
	}
	return false
}

// likeRedis makes an error of go-redis's own type for a server's answer. The
// type is internal there, but redis.Nil has it.
func likeRedis[T ~string](_ T, text string) T { return T(text) }

// isUnknown reports whether a server's answer says that it doesn't know, or
// doesn't allow, the command in this form. Such a command was not carried out.
func isUnknown(text string) bool {
	_, unknown := lacking(text)
	return unknown || strings.HasPrefix(text, "NOPERM") ||
		strings.HasPrefix(text, "ERR syntax error") || strings.HasPrefix(text, "ERR wrong number of arguments")
}
