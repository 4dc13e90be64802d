package instance

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// permanent is a kind of error that waiting doesn't fix. If too many instances fail with
// one, quorum's Acquire gives up at once, instead of trying until its context ends.
type permanent string

func (p permanent) Error() string { return string(p) }

// Permanent tells quorum.
func (p permanent) Permanent() bool {
	//guard:permanent-is-said  an error that waiting doesn't cure, such as a missing command, says so
	return true
}

// meaning is what a server's error reply means.
type meaning struct {
	kind error
	// todo says what to do, if the kind doesn't say it.
	todo string
}

// codes are the meanings of the first words of error replies.
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
	"TRYAGAIN":    {kind: ErrCluster},
	"CLUSTERDOWN": {kind: ErrCluster},
	"CROSSSLOT":   {kind: ErrCluster},
	"WRONGTYPE":   {kind: ErrWrongType},
	badCounter:    {wire.ErrCounter, "see its key {resource}:redlock; delete it when nobody has held the lock for MaxTTL, and no sooner, or tokens may fall"},
	"DENIED":      {kind: ErrProtected},
}

// What to do about some errors.
const (
	unasked = "it wants a password and was given none; write redis://user:password@host, and for what Sentinels watch &username=user&password=password"
	wrong   = "check the user and the password, and that the user is on"
	noLua   = "it runs no Lua scripts, and the lock needs them: load its Lua module (Valkey), and don't rename EVAL and EVALSHA"
	demoted = "it is a replica, or was demoted to one; list masters only, and let nothing fail over between them"
)

// phrases are the meanings of errors without a code of their own, by how they begin after
// the ERR that most of them have.
var phrases = []struct {
	begins string
	meaning
}{
	{"Key should be of string type", meaning{kind: ErrWrongType}},
	// In scripts: servers before 7.0, and since 7.2.
	{"The user executing the script can't ", meaning{kind: ErrPermission}},
	{"ACL failure in script", meaning{kind: ErrPermission}},
	// A client may not send as many arguments as a script has before it has authenticated.
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
	{noEngine, meaning{ErrCommand, noLua}},
}

// noEngine begins the error of an EVAL on a Valkey that was built or started without its Lua
// module. EVALSHA answers NOSCRIPT there.
const noEngine = "Could not find scripting engine"

// serverError makes an error with its kind of a server's error reply. text has no leading dash.
func serverError(text string) error {
	inner, _ := withoutScript(text)
	m := meaningOf(inner)
	if m.kind == ErrCommand {
		// The arguments follow, and one of them is the lock's value.
		inner, _, _ = strings.Cut(inner, ", with args")
	}
	said := likeRedis(redis.Nil, shortened(readable([]byte(inner))))
	if m.todo != "" {
		return fmt.Errorf("%w: %s (%w)", m.kind, m.todo, said)
	}
	return fmt.Errorf("%w (%w)", m.kind, said)
}

// kindOf returns the kind of an error reply.
func kindOf(text string) error {
	inner, _ := withoutScript(text)
	return meaningOf(inner).kind
}

// meaningOf looks only at how an error begins. The rest may repeat what a caller chose, for
// example the name of a key.
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
	switch name, unknown := lacking(text); {
	case unknown && (name == "eval" || name == "evalsha"):
		return meaning{ErrCommand, noLua}
	case unknown:
		return meaning{kind: ErrCommand}
	}
	return meaning{kind: ErrServer}
}

// commandDenied reports whether an error says that the user may not send the command, as opposed to: with
// this key or channel.
func commandDenied(text string) bool {
	return strings.Contains(text, "no permissions to run the '")
}

// maxRepeated is how much an error repeats of a reply, in bytes.
const maxRepeated = 300

func shortened(text string) string {
	if len(text) <= maxRepeated {
		return text
	}
	return strings.ToValidUTF8(text[:maxRepeated], "") + "..."
}

// withoutScript removes what servers put around the error of a script's command. Before 7.0:
// "ERR Error running script (call to f_...): @user_script:3: @user_script: 3: -OOM ...\r\n".
// Later: "ERR ACL failure in script: User x ... script: 5f3c..., on @user_script:3.".
// It reports whether there was anything to remove.
func withoutScript(text string) (inner string, wrapped bool) {
	inner = strings.TrimSpace(text)
	//guard:right-is-named  the name of the right that a script lacks isn't cut off
	if at := strings.LastIndex(inner, " script: "); at >= 0 && strings.Contains(inner[at:], "on @user_script:") {
		inner, wrapped = inner[:at], true
	}
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

var unknownInScript = regexp.MustCompile(`^(unknown (\w+ )?command called from|this (\w+ )?command is not allowed from script)`)

// lacking reports whether an error says that a command is missing or blocked, and returns
// its name in lower case, if the error has it.
func lacking(text string) (name string, unknown bool) {
	text = strings.TrimPrefix(strings.ToLower(text), "err ")
	// Servers name themselves: "Unknown Redis command called from script", or Redict's, or none in Valkey.
	if unknownInScript.MatchString(text) {
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

// lacksScripts reports whether an error says that the server runs no scripts at all.
func lacksScripts(text string) bool {
	name, _ := lacking(text)
	return name == "eval" || name == "evalsha" || strings.HasPrefix(strings.TrimPrefix(text, "ERR "), noEngine)
}

// likeRedis makes an error of go-redis's own type for a server's error. The type is internal
// there, but redis.Nil has it.
func likeRedis[T ~string](_ T, text string) T { return T(text) }
