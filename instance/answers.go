package instance

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// meaning is what a server's error reply means, by how it begins after the ERR that many have.
type meaning struct {
	begins string
	kind   error
	todo   string // what to do, if the kind doesn't say it
}

var meanings = []meaning{
	{"NOAUTH ", ErrAuth, unasked},
	{"WRONGPASS ", ErrAuth, wrong},
	{"NOPERM ", ErrPermission, ""},
	{"READONLY ", wire.ErrNotMaster, demoted},
	{"MASTERDOWN ", wire.ErrNotMaster, demoted},
	{"OOM ", ErrOutOfMemory, ""},
	{"BUSY ", ErrBusy, ""},
	{"LOADING ", ErrLoading, ""},
	{"MISCONF ", ErrMisconf, ""},
	{"NOREPLICAS ", ErrMisconf, ""},
	{"MOVED ", ErrCluster, ""},
	{"ASK ", ErrCluster, ""},
	{"TRYAGAIN ", ErrCluster, ""},
	{"CLUSTERDOWN ", ErrCluster, ""},
	{"CROSSSLOT ", ErrCluster, ""},
	{"WRONGTYPE ", ErrWrongType, ""},
	{badCounter + " ", wire.ErrCounter, "see its key {resource}:redlock; delete it when nobody has held the lock for MaxTTL, and no sooner, or tokens may fall"},
	{"DENIED ", ErrProtected, ""},

	// Without a code of their own.
	{"Key should be of string type", ErrWrongType, ""},
	// In scripts: servers before 7.0, and since 7.2.
	{"The user executing the script can't ", ErrPermission, ""},
	{"ACL failure in script", ErrPermission, ""},
	// A client may not send as many arguments as a script has before it has authenticated.
	{"Protocol error: unauthenticated ", ErrAuth, unasked},
	{"unauthenticated ", ErrAuth, unasked},
	{"invalid password", ErrAuth, wrong},
	{"AUTH ", ErrAuth, "it has no password for this user: leave it out, or set requirepass"},
	{"Client sent AUTH", ErrAuth, "it has no password: leave it out, or set requirepass"},
	{"DB index is out of range", ErrDatabase, ""},
	{"invalid DB index", ErrDatabase, ""},
	{"SELECT is not allowed in cluster mode", ErrCluster, ""},
	{"Script attempted to access ", ErrCluster, ""},
	{"max number of clients", ErrMaxClients, ""},
	{noEngine, ErrCommand, noLua},
}

// What to do about some errors.
const (
	unasked = "it wants a password and was given none; write redis://user:password@host, and for what Sentinels watch &username=user&password=password"
	wrong   = "check the user and the password, and that the user is enabled"
	noLua   = "it runs no Lua scripts, and the lock needs them: load its Lua module (Valkey), and don't rename EVAL and EVALSHA"
	demoted = "it is a replica; list masters only, and let only a deployment (instance.Open) fail over"
)

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
	phrase := strings.TrimPrefix(text, "ERR ")
	for _, m := range meanings {
		// A key in the text could contain the words of another error.
		if strings.HasPrefix(phrase, m.begins) {
			return m
		}
	}
	switch name, unknown := lacking(text); {
	case unknown && (name == "eval" || name == "evalsha"):
		return meaning{kind: ErrCommand, todo: noLua}
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

// otherRun begins the error of a script that was sent to another run, see run.lua.
const otherRun = "REDLOCKRUN"

// badCounter begins the error of a script that can't use a counter. What is wrong follows, or
// the token that was not given and the server's clock, see lift.lua.
const badCounter = "REDLOCKCOUNTER"

// rejected sets the vote of a request to whose script the server replied with an error.
func (c *call) rejected(text, prefix string) {
	inner, _ := withoutScript(text)
	if other := runError(inner, c.req.Run); other != nil {
		c.unsent(other)
		return
	}
	if counter := counterError(inner, &c.req.Fence); counter != nil {
		c.unsent(counter)
		return
	}
	err := moving(serverError(text), prefix)
	if c.req.Op == wire.Tick {
		c.fail(err)
		return
	}
	key := c.req.Keys[0]
	if c.req.Op == wire.Enqueue || c.req.Op == wire.Dequeue {
		key = WaitersKey(key)
	}
	if said, counter := strings.CutPrefix(inner, badCounter+" "); counter {
		err = noToken(prefix+CounterKey(key), said, &c.req)
	} else if kindOf(text) == ErrWrongType {
		err = fmt.Errorf("%w: %q%s", err, prefix+key, orAnother(&c.req))
	}
	c.fail(err)
}

// runError reads the error of a script in another run: the role, the replication ID and the mark. It
// returns nil for other ones.
func runError(text string, asked wire.Run) error {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 || fields[0] != otherRun {
		return nil
	}
	told := func(field string) string { return strings.TrimPrefix(field, "-") }
	mark := wire.Run(fields[3])
	mark = wire.MarkOf(mark.ReplID(), mark.Epoch(), mark.Set()) // with the space before an empty set
	return inAnother(asked, told(fields[1]), told(fields[2]), mark)
}

// inAnother is the error of a request that found another run than it asked for.
func inAnother(asked wire.Run, role, id string, mark wire.Run) *wire.RunError {
	if asked.Epoch() == "" || mark.ReplID() != id {
		mark = wire.Run(id)
	}
	return &wire.RunError{Asked: asked, Found: mark, Role: role}
}

// isReply reports whether an error is a server's reply.
func isReply(err error) bool {
	_, is := errors.AsType[redis.Error](err)
	return is
}

// explain adds its kind to an error of go-redis.
func explain(err error) error {
	var reply redis.Error
	var netErr net.Error
	var refused *refusal
	switch {
	case isUnlocated(err):
		return err
	case errors.Is(err, ErrReply), errors.Is(err, ErrConnection) && !errors.As(err, &refused):
		return err
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &reply):
		return serverError(reply.Error())
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w (%w)", ErrClosed, err)
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("%w (%w)", ErrBusyClient, err)
	case errors.As(err, &netErr) && netErr.Timeout():
		return fmt.Errorf("%w (%w)", wire.ErrTimeout, hideContext{err})
	case aboutTLS(err) != "":
		return fmt.Errorf("%w: %s (%w)", ErrTLS, aboutTLS(err), err)
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return fmt.Errorf("%w (%w)", ErrConnection, err)
	case strings.HasPrefix(err.Error(), "redis: "):
		// go-redis's parser has no type for "this is no reply".
		return fmt.Errorf("%w (%w)", ErrNotRedis, err)
	default:
		return fmt.Errorf("%w (%w)", ErrConnection, hideContext{err})
	}
}

// aboutTLS says what to do if either side refused the other in a TLS handshake. It returns ""
// for other errors.
func aboutTLS(err error) string {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	// An alert, with which one side refuses the other. Its own type isn't exported.
	var alert *net.OpError
	switch {
	case errors.As(err, &certificate):
		return "the server's certificate isn't valid; check it against Config.TLS.RootCAs and the URL's host"
	case errors.As(err, &record):
		return "the port doesn't speak it; use the server's tls-port, or redis:// for this one"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return "the server refuses this client; check the certificates and the versions of TLS in Config.TLS"
	case errors.As(err, &alert) && alert.Op == "local error":
		return "the server's side can't be accepted; check its certificate and its versions of TLS"
	}
	return ""
}

// isTimeout reports whether nothing came in time.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, wire.ErrTimeout)
}

// recovered makes an error of a panic in go-redis or in one of its hooks.
func recovered(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%w: the client panicked: %w", ErrConnection, err)
	}
	return fmt.Errorf("%w: the client panicked: %v", ErrConnection, p)
}
