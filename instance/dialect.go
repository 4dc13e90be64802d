package instance

import "fmt"

// Dialect names the commands that a server is spoken to with, to compare and
// delete and to compare and extend. A dialect's own commands are cheaper than
// scripts; when the server doesn't know or allow one, a script is used for it
// from then on, until the next Probe. Everything else is the same in all.
type Dialect uint8

// The dialects.
const (
	// DialectAuto asks the server which commands it has, at every Probe, and
	// uses scripts until the first one.
	DialectAuto Dialect = iota
	// DialectLua uses scripts for all: any server.
	DialectLua
	// DialectRedis is Redis 8.4 or newer: DELEX key IFEQ value, SET ... IFEQ.
	DialectRedis
	// DialectValkey is Valkey 9.0 or newer: DELIFEQ key value, SET ... IFEQ.
	DialectValkey
	// DialectTair is Tair, or Redis with the TairString module: CAD and CAS.
	DialectTair

	dialects // their number
)

var dialectNames = [dialects]string{"auto", "lua", "redis", "valkey", "tair"}

// String names the dialect.
func (d Dialect) String() string {
	if d >= dialects {
		return fmt.Sprintf("dialect(%d)", uint8(d))
	}
	return dialectNames[d]
}

// probed are the commands by which a dialect is known. Version numbers are not
// asked: servers in compatibility mode tell others' ones.
var probed = [...]string{"delex", "delifeq", "cad", "cas"}

// detect chooses by which of the probed commands the server has.
func detect(has [len(probed)]bool) Dialect {
	switch {
	case has[2] && has[3]:
		return DialectTair
	case has[1]:
		return DialectValkey
	case has[0]:
		return DialectRedis
	default:
		return DialectLua
	}
}

// speak sets the dialect for the commands to come.
func (r *Redis) speak(d Dialect) {
	r.release.Store(uint32(d))
	r.extend.Store(uint32(d))
}

// spoken is the dialect as it goes into an Identity.
func (r *Redis) spoken() string {
	release, extend := Dialect(r.release.Load()), Dialect(r.extend.Load())
	if release == extend {
		return release.String()
	}
	return release.String() + " (release), " + extend.String() + " (extend)"
}
