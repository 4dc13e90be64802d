package instance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// The errors of an instance, for errors.Is. They wrap go-redis's error, too. An instance
// also returns quorum.ErrNotMaster, quorum.ErrNotReplicated, quorum.ErrCounter and
// quorum.ErrTimeout.
var (
	// ErrConfig: a value in a Config can't be used. The message names it.
	ErrConfig = error(permanent("instance: bad configuration"))

	// ErrClientOptions: the client can't serve a quorum as it is set up. See
	// OptionError.
	ErrClientOptions = errors.New("instance: the client is not fit for a quorum")

	// ErrURL: the URL given to Open can't be used. The message never repeats what could be a
	// part of the password.
	ErrURL = errors.New("instance: bad server URL")

	// ErrAuth: the server wants a password, or another one (NOAUTH, WRONGPASS).
	ErrAuth = error(permanent("instance: the server doesn't let this user in"))

	// ErrPermission: the user may not do this (NOPERM).
	ErrPermission = error(permanent("instance: the user lacks a permission; allow it MULTI, EXEC, EVALSHA, EVAL, SET, GET, GETRANGE, DEL, INCR, PEXPIRE, PTTL, MGET, EXISTS, TIME, INFO and PING, and the keys ~resource, ~{resource}:redlock and ~{redlock}:served:*; for notifications also SUBSCRIBE, PUBLISH, LPOP, LPUSH, RPUSH, LRANGE, LREM, ~{resource}:redlock:waiters and &redlock:wake:*; for another database than 0 SELECT, for Config.Replicas WAIT; on a Cluster CLUSTER|SLOTS, and of Sentinel SENTINEL|MASTER"))

	// ErrCommand: the server or proxy doesn't have a command, or blocks it (rename-command,
	// a proxy).
	ErrCommand = error(permanent("instance: the server lacks a command that the lock needs; take rename-command for it out of the server's configuration, or connect to the server itself rather than to a proxy"))

	// ErrDatabase: the server has no database of this number.
	ErrDatabase = error(permanent("instance: the server has no such database; use one below its setting databases (16 unless it is set), best 0"))

	// ErrProtected: the server is in protected mode, and accepts only connections from its
	// own machine.
	ErrProtected = error(permanent("instance: the server is in protected mode; give it a password (requirepass, or an ACL user) and the client the same"))

	// ErrMaxClients: the server has as many connections as it accepts.
	ErrMaxClients = errors.New("instance: the server takes no more connections; raise its maxclients, or find out who holds so many (CLIENT LIST)")

	// ErrOutOfMemory: the server's memory is full (OOM).
	ErrOutOfMemory = errors.New("instance: the server's memory is full; raise maxmemory or make room")

	// ErrBusy: the server runs a long script (BUSY).
	ErrBusy = errors.New("instance: the server is busy with a script; wait for it or end it with SCRIPT KILL")

	// ErrLoading: the server is loading its data from disk (LOADING).
	ErrLoading = errors.New("instance: the server is still loading its data; wait for it")

	// ErrMisconf: the server accepts no writes because it can't save them, or lacks replicas
	// (MISCONF, NOREPLICAS).
	ErrMisconf = errors.New("instance: the server takes no writes; see to its disk and its replicas")

	// ErrCluster: the server is a node of a Redis Cluster that doesn't have this key, or the
	// cluster is down (MOVED, ASK, TRYAGAIN, CLUSTERDOWN), and the URL isn't a Cluster's.
	ErrCluster = error(permanent("instance: the server is a node of a cluster; take an independent master that holds every key, or make the whole cluster one instance (Open, with cluster=true in the URL)"))

	// ErrMoving: the Cluster that an instance is (see Open) moves the locks' slot to another node
	// (MOVED, ASK, TRYAGAIN), or is down (CLUSTERDOWN). Waiting helps.
	ErrMoving = errors.New("instance: the cluster moves the slot of the locks, or has no master for it now; wait for it, or see to the cluster (CLUSTER INFO)")

	// ErrNotRedis: the server doesn't speak the Redis protocol.
	ErrNotRedis = errors.New("instance: what answers is not a Redis server; check the address, the port and whether it wants TLS")

	// ErrTLS: the TLS handshake failed, because of the server's or this client's
	// certificate, or because the server doesn't speak TLS. The text says which.
	ErrTLS = error(permanent("instance: no TLS with the server"))

	// ErrConnection: no connection could be made, or it broke.
	ErrConnection = errors.New("instance: no connection to the server")

	// ErrBusyClient: the client had no free connection within its PoolTimeout.
	ErrBusyClient = errors.New("instance: all of the client's connections are in use; raise Options.PoolSize")

	// ErrClosed: the instance or its client was closed.
	ErrClosed = error(permanent("instance: it is closed, or its client"))

	// ErrReply: a reply came that doesn't belong to the command. The connection is out of
	// step, and was closed.
	ErrReply = errors.New("instance: the connection's replies are out of step; it was closed")

	// ErrWrongType: the key holds something that isn't a lock.
	ErrWrongType = error(permanent("instance: the key holds another type of value; choose another resource name or delete the key"))

	// ErrOlderVersion: clients of an earlier version of this library use the server under the
	// instance's name, or did.
	ErrOlderVersion = error(permanent("instance: an earlier version of this library has left its mark on the server"))

	// ErrServer: the server answered with another error.
	ErrServer = errors.New("instance: the server answered with an error")
)

// otherRun begins the error of a script that was sent to another run, see run.lua.
const otherRun = "REDLOCKRUN"

// runError reads that error: the role, the replication ID and the mark. It returns nil for other ones.
func runError(text string, asked wire.Run) *wire.RunError {
	text, _ = withoutScript(text)
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 || fields[0] != otherRun {
		return nil
	}
	told := func(field string) string { return strings.TrimPrefix(field, "-") }
	e := &wire.RunError{Asked: asked, Role: told(fields[1]), Found: wire.Run(told(fields[2]))}
	if mark := wire.Run(fields[3]); asked.Epoch() != "" && mark.ReplID() == string(e.Found) {
		e.Found = wire.MarkOf(mark.ReplID(), mark.Epoch(), mark.Set()) // with the space before an empty set
	}
	return e
}

// badCounter begins the error of a script that can't use a counter. What is wrong follows, or
// the token that was not given and the server's clock, see lift.lua.
const badCounter = "REDLOCKCOUNTER"

// counterError reads such an error with a token. It returns nil for other ones.
func counterError(text string, req *wire.Request) *wire.CounterError {
	text, _ = withoutScript(text)
	fields := strings.Fields(text)
	if len(fields) != 3 || fields[0] != badCounter {
		return nil
	}
	// Numbers up to 2^53 are exact here, and larger ones are no tokens.
	token, err := strconv.ParseUint(fields[1], 10, 64)
	clock, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || err2 != nil {
		return nil
	}
	return &wire.CounterError{
		Token: fencing.Token(token), Clock: time.UnixMicro(clock), Most: req.Fence.Ahead,
		Repair: "set the clock of this server right, and those of the others",
	}
}

// advise says what to do about a counter that is too far ahead.
func (r *Redis) advise(e *wire.CounterError, req *wire.Request) {
	switch {
	case e.Clock.UnixMicro() >= int64(fencing.MaxToken):
		e.Repair = "set its clock right"
	case len(req.Also) > 0:
		e.Repair = fmt.Sprintf("if its clock is right, somebody else wrote the counter of one of the keys; find it with %s: when nobody has held that lock for MaxTTL (%v), "+
			"and no sooner, or tokens may fall, delete the counter on this server", counters(r.prefix, req), 2*req.Fence.Ahead)
	default:
		// MaxTTL, as for every lost counter: see quorum/internal/settlement.
		e.Repair = fmt.Sprintf("if its clock is right, somebody else wrote the counter: when nobody has held the lock for MaxTTL (%v), "+
			"and no sooner, or tokens may fall, delete it on this server with %s", 2*req.Fence.Ahead, deletion(r.prefix, req.Key))
	}
}

// counters returns the command with which an operator reads the counters of several resources.
func counters(prefix string, req *wire.Request) string {
	command := "redis-cli, at its prompt: MGET"
	for _, key := range append([]string{req.Key}, req.Also...) {
		command += fmt.Sprintf(" %q", prefix+CounterKey(key))
	}
	if len(command) > 500 {
		return "redis-cli, MGET of the keys {resource}:redlock"
	}
	return command
}

// deletion returns the command with which an operator deletes a resource's counter.
func deletion(prefix, key string) string {
	counter := prefix + CounterKey(key)
	switch {
	case len(key) > 200:
		return "redis-cli, DEL of the key {resource}:redlock"
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return r == '\'' || !unicode.IsPrint(r) }):
		return fmt.Sprintf("redis-cli, at its prompt: DEL %q", counter)
	}
	return fmt.Sprintf("redis-cli DEL '%s'", counter)
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
		return "the server refuses this client; check its certificate, Config.TLS.Certificates"
	case errors.As(err, &alert) && alert.Op == "local error":
		return "the server's side can't be accepted; check its certificate and its versions of TLS"
	}
	return ""
}

// contextEnded returns the error of a call whose context ended before its reply.
func contextEnded(ctx context.Context) error {
	cause := ctx.Err()
	if why := context.Cause(ctx); why != nil && !errors.Is(why, cause) {
		cause = fmt.Errorf("%w: %w", cause, why)
	}
	return fmt.Errorf("instance: no answer before the context ended: %w", cause)
}

// hideContext hides that an error is one of a context: package net returns such an error for
// a dial that took longer than Options.DialTimeout, though no caller's context has ended.
type hideContext struct{ err error }

func (h hideContext) Error() string { return h.err.Error() }

func (h hideContext) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(h.err, target)
}

func (h hideContext) As(target any) bool { return errors.As(h.err, target) }
