package redismodel

import (
	"time"

	"github.com/redquorum/redlock/quorum/memory"
)

// Database executes Redis's own commands on one server's data. The library's commands
// use the same data. Their counters have keys of their own in Redis and are not visible here.
type Database struct {
	*memory.Data
	scripts map[string]Script // by their texts
}

// New returns an empty Database that knows some scripts, by their texts, beside the well-known ones.
func New(scripts map[string]Script) Database { return Database{memory.NewData(), scripts} }

// execution is a command that is being executed.
type execution struct {
	Database
	args []string
	now  time.Time
	// The first argument as a key.
	value   string
	expires time.Time
	exists  bool
}

func (x *execution) put(value string, expires time.Time) { x.Keys.Put(x.args[0], value, expires) }

func (x *execution) delete() bool { return x.Keys.Delete(x.args[0], x.now) }

func (x *execution) has(value string) bool { return x.exists && x.value == value }
