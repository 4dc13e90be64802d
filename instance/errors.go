package instance

import (
	"context"
	"errors"
	"fmt"
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

	// ErrAuth: the server wants a password, or a different one (NOAUTH, WRONGPASS).
	ErrAuth = error(permanent("instance: the server doesn't let this user in"))

	// ErrPermission: the user may not do this (NOPERM).
	ErrPermission = error(permanent("instance: the user lacks a permission; allow it MULTI, EXEC, EVALSHA, EVAL, SET, GET, GETRANGE, DEL, INCR, PEXPIRE, PTTL, MGET, EXISTS, TIME, INFO and PING, and the keys ~resource, ~{resource}:redlock and ~{redlock}:served:*; for notifications also SUBSCRIBE, PUBLISH, LPOP, LPUSH, RPUSH, LRANGE, LREM, ~{resource}:redlock:waiters and &redlock:wake:*; for a database other than 0 also SELECT, for Config.Replicas also WAIT; on a Cluster also CLUSTER|SLOTS, and on Sentinel SENTINEL|MASTER"))

	// ErrCommand: the server or proxy doesn't have a command, or blocks it (rename-command,
	// a proxy).
	ErrCommand = error(permanent("instance: the server lacks a command that the lock needs; remove its rename-command from the server's configuration, or connect to the server itself rather than to a proxy"))

	// ErrDatabase: the server has no database of this number.
	ErrDatabase = error(permanent("instance: the server has no such database; use a number below its databases setting (16 by default), preferably 0"))

	// ErrProtected: the server is in protected mode, and accepts only connections from its
	// own machine.
	ErrProtected = error(permanent("instance: the server is in protected mode; set a password on it (requirepass, or an ACL user), and give the client the same password"))

	// ErrMaxClients: the server has as many connections as it accepts.
	ErrMaxClients = errors.New("instance: the server takes no more connections; raise its maxclients, or find out which clients hold so many (CLIENT LIST)")

	// ErrOutOfMemory: the server's memory is full (OOM).
	ErrOutOfMemory = errors.New("instance: the server's memory is full; raise maxmemory or make room")

	// ErrBusy: the server runs a long script (BUSY).
	ErrBusy = errors.New("instance: the server is busy with a script; wait for it or end it with SCRIPT KILL")

	// ErrLoading: the server is loading its data from disk (LOADING).
	ErrLoading = errors.New("instance: the server is still loading its data; wait for it")

	// ErrMisconf: the server accepts no writes because it can't save them, or lacks replicas
	// (MISCONF, NOREPLICAS).
	ErrMisconf = errors.New("instance: the server takes no writes; check its disk and its replicas")

	// ErrCluster: the server is a node of a Redis Cluster that doesn't have this key, or the
	// cluster is down (MOVED, ASK, TRYAGAIN, CLUSTERDOWN), and the URL isn't a Cluster's.
	ErrCluster = error(permanent("instance: the server is a node of a cluster; use an independent master that holds every key, or make the whole cluster one instance (Open, with cluster=true in the URL)"))

	// ErrMoving: the Cluster that an instance is (see Open) moves the locks' slot to another node
	// (MOVED, ASK, TRYAGAIN), or is down (CLUSTERDOWN). Waiting helps.
	ErrMoving = errors.New("instance: the cluster is moving the locks' slot, or has no master for it now; wait, or check the cluster (CLUSTER INFO)")

	// ErrNotRedis: the server doesn't speak the Redis protocol.
	ErrNotRedis = errors.New("instance: what answers is not a Redis server; check the address, the port and whether it wants TLS")

	// ErrTLS: the TLS handshake failed, because of the server's or this client's
	// certificate, or because the server doesn't speak TLS. The text says which.
	ErrTLS = error(permanent("instance: no TLS connection to the server"))

	// ErrConnection: no connection could be made, or it broke.
	ErrConnection = errors.New("instance: no connection to the server")

	// ErrBusyClient: the client had no free connection within its PoolTimeout.
	ErrBusyClient = errors.New("instance: all of the client's connections are in use; raise Options.PoolSize")

	// ErrClosed: the instance or its client was closed.
	ErrClosed = error(permanent("instance: the instance or its client is closed"))

	// ErrReply: a reply came that doesn't belong to the command. The connection is out of
	// step, and was closed.
	ErrReply = errors.New("instance: the connection's replies are out of step; it was closed")

	// ErrWrongType: the key holds something that isn't a lock.
	ErrWrongType = error(permanent("instance: the key holds another type of value; choose another resource name or delete the key"))

	// ErrOlderVersion: clients of an earlier version of this library use the server under the
	// instance's name, or have used it.
	ErrOlderVersion = error(permanent("instance: an earlier version of this library has left its mark on the server"))

	// ErrServer: the server answered with another error.
	ErrServer = errors.New("instance: the server answered with an error")
)

// permanently is an error that says whether waiting fixes it, for quorum's Acquire.
type permanently interface {
	error
	Permanent() bool
}

// permanent is a kind of error that waiting doesn't fix. If too many instances fail with
// one, quorum's Acquire gives up at once, instead of trying until its context ends.
type permanent string

func (p permanent) Error() string { return string(p) }

// Permanent tells quorum.
func (p permanent) Permanent() bool {
	return true
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
