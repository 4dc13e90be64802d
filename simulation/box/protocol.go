package box

import (
	"errors"
	"fmt"
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
	DoHello   = "hello"   // say what the driver is: the answer has Name, Version, Servers, Can
	DoOpen    = "open"    // make a client of the servers
	DoAcquire = "acquire" // get the lock: the answer has Held, and Token or Why
	DoCheck   = "check"   // does the client believe that it holds the lock? Held
	DoExtend  = "extend"  // renew the lease: Held, or Why. Only if the driver Can
	DoRelease = "release" // give the lock back: Done, or Why
)

// Answer is a line that a driver writes to its standard output. A line with an Event and no ID
// may come at any time.
type Answer struct {
	ID int `json:"id,omitempty"`

	// Name and Version are those of the lock client, Servers is "one" or "many": whether a lock
	// is kept on one server or on several independent ones. Can lists what else the client has.
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Servers string   `json:"servers,omitempty"`
	Can     []string `json:"can,omitempty"`

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

// What a driver can do, in Answer.Can. What it can't do isn't asked for and isn't judged.
const (
	CanExtend = "extend" // it answers DoExtend
	CanToken  = "token"  // its leases have fencing tokens
	CanWait   = "wait"   // its client waits for a lock; else the box tries again and again
	CanTell   = "tell"   // it tells of a lost lease by EventLost
)

// The words of Answer.Why and Answer.Event.
const (
	WhyTaken  = "taken"
	EventLost = "lost"
)

// The words of Answer.Servers.
const (
	oneServer   = "one"
	manyServers = "many"
)

// DriverError is a driver that broke the protocol, could not be started or died. Nothing is
// concluded from the play.
type DriverError struct {
	// Client is the client's name, Did what the driver did.
	Client, Did string
	// Said is the end of its standard error.
	Said string
}

func (e *DriverError) Error() string {
	text := fmt.Sprintf("box: the driver of %s %s", e.Client, e.Did)
	if e.Said != "" {
		text += "; its standard error ends with: " + e.Said
	}
	return text
}

// validate says what is wrong with the answer to a hello.
func (a Answer) validate() error {
	switch {
	case a.Error != "":
		return errors.New("says that it can't answer hello: " + a.Error)
	case a.Name == "":
		return errors.New(`answered hello without a "name"`)
	case a.Servers != oneServer && a.Servers != manyServers:
		return fmt.Errorf(`answered hello with "servers":%q, want "one" or "many"`, a.Servers)
	}
	for _, can := range a.Can {
		switch can {
		case CanExtend, CanToken, CanWait, CanTell:
		default:
			return fmt.Errorf(`answered hello with "can":[%q], want "extend", "token", "wait" or "tell"`, can)
		}
	}
	return nil
}
