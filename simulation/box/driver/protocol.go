package driver

import (
	"errors"
	"fmt"
	"slices"
)

// Request is a line that the box writes to a driver's standard input. The driver answers each
// with one line on its standard output, an Answer. It gets no second request before it has
// answered the first. Everything else that it prints goes to its standard error. It ends when
// its input ends.
//
// Times are in milliseconds.
type Request struct {
	ID int    `json:"id"`
	Do string `json:"do"`

	// Client is the client's name, and Servers are the servers' addresses, host:port. Only
	// with DoOpen. A driver with Servers "one" in its hello gets one address.
	Client  string   `json:"client,omitempty"`
	Servers []string `json:"servers,omitempty"`
	// Key is the lock. With DoAcquire, DoCheck, DoExtend and DoRelease.
	Key string `json:"key,omitempty"`
	// TTL is how long a lease lasts. With DoOpen, DoAcquire and DoExtend.
	TTL int64 `json:"ttl,omitempty"`
	// Wait is for how long the client may wait for the lock, 0 to try once. With DoAcquire.
	Wait int64 `json:"wait,omitempty"`
}

// The requests, in the order of a driver's life.
const (
	DoHello   = "hello"   // say what the driver is: the answer has a Hello
	DoOpen    = "open"    // make a client of the servers
	DoAcquire = "acquire" // get the lock: the answer has Held, and Token or Why
	DoCheck   = "check"   // does the client believe that it holds the lock? Held
	DoExtend  = "extend"  // renew the lease: Held, or Why. Only if the driver Can
	DoRelease = "release" // give the lock back: Done, or Why
)

// Hello says what a driver is.
type Hello struct {
	// Name and Version are those of the lock client. Servers is OneServer or ManyServers: whether
	// a lock is kept on one server or on several independent ones. Can lists what else the client
	// has.
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Servers string   `json:"servers,omitempty"`
	Can     []string `json:"can,omitempty"`
	// Distrusts is for how many milliseconds beyond a lease's length the client ignores a server that came back,
	// as its documentation says: 0 to a minute. Whoever waits for the lock is given as much longer.
	Distrusts int64 `json:"distrusts,omitempty"`
}

// Answer is a line that a driver writes to its standard output. A line with an Event and no ID
// may come at any time.
type Answer struct {
	ID int `json:"id,omitempty"`
	Hello

	// Held: the client holds the lock, as far as it knows.
	Held bool `json:"held,omitempty"`
	// Left is how much of the lease is left, if the client knows. With DoAcquire.
	Left *float64 `json:"left,omitempty"`
	// Token is the lease's fencing token. Only if the driver Can.
	Token uint64 `json:"token,omitempty"`
	// Done: the lock was given back, as far as the client knows.
	Done bool `json:"done,omitempty"`
	// Why says why not: WhyTaken if another client holds the lock, else the client's error.
	Why string `json:"why,omitempty"`

	// Event is EventLost when the client says on its own that its lease is lost.
	Event string `json:"event,omitempty"`
	// Error says that the driver can't carry out the request. It ends the play without a
	// finding.
	Error string `json:"error,omitempty"`
}

// The words of an Answer. What a driver Can not do isn't asked for and isn't judged.
const (
	OneServer   = "one"
	ManyServers = "many"

	CanExtend = "extend" // it answers DoExtend
	CanToken  = "token"  // its leases have fencing tokens
	CanWait   = "wait"   // its client waits for a lock; else the box tries again and again
	CanTell   = "tell"   // it tells of a lost lease by EventLost

	WhyTaken  = "taken"
	EventLost = "lost"
)

// Has reports whether the driver Can do something.
func (h Hello) Has(can string) bool { return slices.Contains(h.Can, can) }

// Validate says what is wrong with the answer to a hello.
func (h Hello) Validate() error {
	switch {
	case h.Name == "":
		return errors.New(`answered hello without a "name"`)
	case h.Servers != OneServer && h.Servers != ManyServers:
		return fmt.Errorf(`answered hello with "servers":%q, want "one" or "many"`, h.Servers)
	case h.Distrusts < 0 || h.Distrusts > 60_000:
		return fmt.Errorf(`answered hello with "distrusts":%d, want 0 to 60000 ms`, h.Distrusts)
	}
	for _, can := range h.Can {
		if !slices.Contains([]string{CanExtend, CanToken, CanWait, CanTell}, can) {
			return fmt.Errorf(`answered hello with "can":[%q], want "extend", "token", "wait" or "tell"`, can)
		}
	}
	return nil
}
