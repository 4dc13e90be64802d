package instance

import "fmt"

// Dialect names the commands for compare-and-delete and compare-and-extend. A server's own
// commands cost less than scripts. If the server doesn't know or doesn't allow such a
// command, a script takes its place until the next Probe. All other requests are the same
// in every dialect.
type Dialect uint8

// The dialects.
const (
	// DialectAuto asks the server at every Probe which commands it has, and uses scripts
	// until the first one.
	DialectAuto Dialect = iota
	// DialectLua uses scripts only, for any server. On a server without Lua it uses
	// transactions with WATCH, as every dialect does there for what takes a script elsewhere.
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

// probed are the commands that tell the dialect. Version numbers don't: servers in
// compatibility mode have those of another server.
var probed = [...]string{"delex", "delifeq", "cad", "cas"}

// detect chooses the dialect by which of the probed commands the server has.
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

// setDialect sets the dialect of the requests to come.
func (r *Redis) setDialect(d Dialect) {
	r.release.Store(uint32(d))
	r.extend.Store(uint32(d))
}
