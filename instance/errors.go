package instance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum"
)

// What an instance answers with, for errors.Is. The error of go-redis is
// wrapped beside them. quorum.ErrNotMaster, quorum.ErrNotReplicated and
// quorum.ErrTimeout are used as well.
var (
	// ErrConfig: a value in a Config can't be used. The message names it.
	ErrConfig = error(permanent("instance: bad configuration"))

	// ErrClientOptions: the client can't serve a quorum as it is set up. See
	// OptionError.
	ErrClientOptions = errors.New("instance: the client is not fit for a quorum")

	// ErrURL: the text given to Open is not a server's address. The message
	// never repeats what could be a part of the password.
	ErrURL = errors.New("instance: bad server URL")

	// ErrAuth: the server wants a password, or another one (NOAUTH, WRONGPASS).
	ErrAuth = error(permanent("instance: the server refuses the user or the password; check both, and that the user is on"))

	// ErrPermission: the user may not do this (NOPERM).
	ErrPermission = error(permanent("instance: the user lacks a permission; allow it EVALSHA, EVAL, SET, GET, DEL, INCR, INCRBY, PEXPIRE, PTTL, MGET, TIME and PING, and the keys of the lock (~resource, ~{resource}:redlock and ~{resource}:redlock:set); for wake-ups also SUBSCRIBE, PUBLISH, LPOP, LPUSH, RPUSH, LRANGE, LREM, EXISTS, ~{resource}:redlock:waiters and &redlock:wake:*"))

	// ErrOutOfMemory: the server's memory is full (OOM).
	ErrOutOfMemory = errors.New("instance: the server's memory is full; raise maxmemory or make room")

	// ErrBusy: a script keeps the server from answering (BUSY).
	ErrBusy = errors.New("instance: the server is busy with a script; wait for it or end it with SCRIPT KILL")

	// ErrLoading: the server reads its data from disk (LOADING).
	ErrLoading = errors.New("instance: the server is still loading its data; wait for it")

	// ErrMisconf: the server takes no writes because it can't save them, or
	// lacks replicas (MISCONF, NOREPLICAS).
	ErrMisconf = errors.New("instance: the server takes no writes; see to its disk and its replicas")

	// ErrCluster: the server is a node of a Redis Cluster and has not this key,
	// or the cluster is down (MOVED, ASK, CLUSTERDOWN).
	ErrCluster = error(permanent("instance: the server is a node of a cluster; an instance must be an independent master that holds every key"))

	// ErrNotRedis: what answers doesn't speak the protocol.
	ErrNotRedis = errors.New("instance: what answers is not a Redis server; check the address, the port and whether it wants TLS")

	// ErrTLS: the handshake failed, because of a certificate, the server's or this
	// client's, or because what answers doesn't speak TLS.
	ErrTLS = error(permanent("instance: no TLS with the server; check its certificate against Config.TLS.RootCAs and the URL's host, this client's certificate, and that the port speaks TLS"))

	// ErrConnection: no connection could be made, or it broke.
	ErrConnection = errors.New("instance: no connection to the server")

	// ErrBusyClient: the client had no connection to spare within its
	// PoolTimeout.
	ErrBusyClient = errors.New("instance: all of the client's connections are in use; raise Options.PoolSize")

	// ErrClosed: the client was closed.
	ErrClosed = error(permanent("instance: the client is closed"))

	// ErrReply: an answer came that doesn't belong to the command: the
	// connection is out of step, and was closed.
	ErrReply = errors.New("instance: the connection's replies are out of step; it was closed")

	// ErrWrongType: the key is held by something that isn't a lock.
	ErrWrongType = error(permanent("instance: the key holds another type of value; choose another resource name or delete the key"))

	// ErrCounter: the resource's counter can't be read, or can't be raised.
	ErrCounter = errors.New("instance: the resource's counter can't be used; see its keys {resource}:redlock and {resource}:redlock:set")

	// ErrServer: the server answered with an error that has no name here.
	ErrServer = errors.New("instance: the server answered with an error")
)

// permanent is a kind of error that waiting doesn't cure: quorum's Acquire gives up
// at once when too many instances fail with one, instead of trying until its
// context ends.
type permanent string

func (p permanent) Error() string { return string(p) }

// Permanent is what quorum asks for.
func (p permanent) Permanent() bool { return true }

// kinds says which error each first word of a server's error answer means.
var kinds = map[string]error{
	"NOAUTH":         ErrAuth,
	"WRONGPASS":      ErrAuth,
	"NOPERM":         ErrPermission,
	"READONLY":       quorum.ErrNotMaster,
	"MASTERDOWN":     quorum.ErrNotMaster,
	"OOM":            ErrOutOfMemory,
	"BUSY":           ErrBusy,
	"LOADING":        ErrLoading,
	"MISCONF":        ErrMisconf,
	"NOREPLICAS":     ErrMisconf,
	"MOVED":          ErrCluster,
	"ASK":            ErrCluster,
	"CLUSTERDOWN":    ErrCluster,
	"CROSSSLOT":      ErrCluster,
	"WRONGTYPE":      ErrWrongType,
	"REDLOCKCOUNTER": ErrCounter,
}

// serverError gives a server's error answer its kind. text has no leading dash.
func serverError(text string) error {
	return fmt.Errorf("%w (%w)", kindOf(text), likeRedis(redis.Nil, text))
}

func kindOf(text string) error {
	word, _, _ := strings.Cut(text, " ")
	if kind := kinds[word]; kind != nil {
		return kind
	}
	switch {
	// Servers before 7.0 wrap the errors of a script's commands in one of the
	// script's; some answers carry no code of their own.
	case strings.Contains(text, "WRONGTYPE "), strings.HasPrefix(text, "ERR Key should be of string type"):
		return ErrWrongType
	case strings.Contains(text, "-OOM "), strings.Contains(text, ": OOM "):
		return ErrOutOfMemory
	case strings.Contains(text, "NOPERM "), strings.Contains(text, "The user executing the script can't "):
		return ErrPermission // of a script's command
	case strings.Contains(text, "READONLY "):
		return quorum.ErrNotMaster
	// An unknown client may not send as many arguments as a script has.
	case strings.Contains(text, "unauthenticated "), strings.HasPrefix(text, "ERR invalid password"), strings.HasPrefix(text, "ERR AUTH "), strings.HasPrefix(text, "ERR Client sent AUTH"):
		return ErrAuth
	}
	return ErrServer
}

// nothingDone reports whether a server's error answer says that it did nothing at
// all. In a script these come at its first write or not at all: once it has
// written, the server lets it finish.
func nothingDone(text string) bool {
	switch kindOf(text) {
	case ErrAuth, ErrOutOfMemory, ErrBusy, ErrLoading, ErrMisconf, ErrCluster, quorum.ErrNotMaster:
		return true
	case ErrPermission:
		// Of the command itself, and not of a script's, which may be its last.
		return strings.HasPrefix(text, "NOPERM") && !strings.Contains(text, "script")
	}
	return false
}

// likeRedis makes an error of go-redis's own type for a server's answer. The
// type is internal there, but redis.Nil has it.
func likeRedis[T ~string](_ T, text string) T { return T(text) }

// isUnknown reports whether a server's answer says that it doesn't know, or
// doesn't allow, the command in this form. Such a command was not carried out.
func isUnknown(text string) bool {
	return strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "ERR unknown command") ||
		strings.HasPrefix(text, "ERR syntax error") || strings.HasPrefix(text, "ERR wrong number of arguments")
}

// explain gives what go-redis returned its kind.
func explain(ctx context.Context, err error) error {
	var answer redis.Error
	var netErr net.Error
	switch {
	case errors.Is(err, ErrReply), errors.Is(err, errAnswered):
		return err
	case errors.As(err, &answer):
		return fmt.Errorf("%w (%w)", kindOf(answer.Error()), err)
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w (%w)", ErrClosed, err)
	case ctx.Err() != nil:
		return contextEnded(ctx, err)
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("%w (%w)", ErrBusyClient, err)
	case errors.As(err, &netErr) && netErr.Timeout():
		// A deadline that go-redis took from the context can pass a little
		// before the context itself says so.
		if pastDeadline(ctx) {
			return fmt.Errorf("%w (%w)", context.DeadlineExceeded, err)
		}
		return fmt.Errorf("%w (%w)", quorum.ErrTimeout, hideContext{err})
	case isTLS(err):
		return fmt.Errorf("%w (%w)", ErrTLS, err)
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return fmt.Errorf("%w (%w)", ErrConnection, err)
	case strings.HasPrefix(err.Error(), "redis: "):
		// go-redis's parser has no type for "this is no reply".
		return fmt.Errorf("%w (%w)", ErrNotRedis, err)
	default:
		return fmt.Errorf("%w (%w)", ErrConnection, hideContext{err})
	}
}

// isTLS reports whether either side refused the other in a TLS handshake.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	// An alert, by which the server refuses this client or the other way round.
	// Its own type isn't exported.
	var alert *net.OpError
	return errors.As(err, &certificate) || errors.As(err, &record) ||
		errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error")
}

// contextEnded is the error of a command whose context ended before its answer.
func contextEnded(ctx context.Context, err error) error {
	cause := ctx.Err()
	if why := context.Cause(ctx); why != nil && !errors.Is(why, cause) {
		cause = fmt.Errorf("%w: %w", cause, why)
	}
	if err == nil || errors.Is(cause, err) {
		return fmt.Errorf("instance: no answer before the context ended: %w", cause)
	}
	return fmt.Errorf("instance: no answer before the context ended: %w (%w)", cause, hideContext{err})
}

// hideContext hides that an error is one of a context: dialing for longer than
// Options.DialTimeout is such an error in package net, though nobody's context
// has ended.
type hideContext struct{ err error }

func (h hideContext) Error() string { return h.err.Error() }

func (h hideContext) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(h.err, target)
}

func (h hideContext) As(target any) bool { return errors.As(h.err, target) }

// pastDeadline reports whether the context's deadline is over, which can be
// before its Err says so.
func pastDeadline(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}
