package redisguard

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
)

// DefaultPrefix is what the keys of marks begin with unless Config says
// otherwise.
const DefaultPrefix = "fence:"

// MinRetention is the shortest Config.Retention other than 0.
const MinRetention = time.Minute

// Scripter is what the guard needs of a client; *redis.Client and
// *redis.ClusterClient have it. Do not pass a pipeline: it answers before the
// server has, and the guard takes that for an error.
type Scripter interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd
}

// Config says where a Guard keeps its marks.
type Config struct {
	// Client reaches the server. Required. The guard does not close it.
	//
	// A client that retries after a network error may run an operation twice.
	// That is harmless for Admit, Check and Set, except that the second run may
	// find a later holder and report as stale what the first has written. For
	// Run it is harmless only if the script may run twice: otherwise
	// give the client MaxRetries -1.
	Client Scripter

	// Prefix begins the key of every mark; "" means DefaultPrefix. All guards of
	// a resource must have the same one, and no other data may use it: Set and
	// Run refuse keys that begin with it. Braces may only stand around a hash tag
	// at its beginning, as in "{shop}:fence:". So no two prefixes can give one
	// key to two resources.
	Prefix string

	// Retention is how long a mark is kept after it was last shown a token that
	// passed: 0, the default, forever, else MinRetention or more, in whole
	// milliseconds. A guard never shortens the time that a mark has left: if
	// guards of one resource differ, the longest retention holds, and a permanent
	// mark stays permanent.
	//
	// A mark that has expired is a mark forgotten: a holder that was paused for
	// longer is let in with its old token, and a pause has no upper bound. Marks take
	// about 100 bytes each. Set a retention only if resources are ever new ones
	// and cannot be written to any more when it ends, and well above anything
	// that a holder may sleep through, virtual machines suspended over a weekend
	// included. Changing it to 0 makes a mark permanent when it is next shown a
	// token.
	Retention time.Duration

	// Bound is the largest token that is believed. The zero Bound is right for
	// tokens of this module. It goes by the clock of this process, not by the
	// server's, see fencing.Bound.
	Bound fencing.Bound
}

var prefixes = regexp.MustCompile(`^(\{[^{}]+\})?[^{}]*$`)

// validate fills in the defaults.
func (c Config) validate() (Config, error) {
	if c.Client == nil {
		return c, fmt.Errorf("redisguard: Config.Client is nil; pass a client of the server that keeps the marks")
	}
	if v := reflect.ValueOf(c.Client); v.Kind() == reflect.Pointer && v.IsNil() {
		return c, fmt.Errorf("redisguard: Config.Client is a nil %T; pass a client of the server that keeps the marks", c.Client)
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	// With braces anywhere else, "fence:" with resource "a}:{b" and "fence:{a}:"
	// with resource "b" would share a key.
	//guard:redis-prefixes-apart  no two resources share a mark in Redis
	if !prefixes.MatchString(c.Prefix) {
		return c, fmt.Errorf("redisguard: Config.Prefix is %q, want no braces, or one hash tag at its beginning as in \"{shop}:fence:\"", c.Prefix)
	}
	switch {
	case c.Retention == 0:
	case c.Retention < MinRetention:
		return c, fmt.Errorf("redisguard: Config.Retention is %v, want 0 (forever) or at least %v", c.Retention, MinRetention)
	case c.Retention%time.Millisecond != 0:
		return c, fmt.Errorf("redisguard: Config.Retention is %v, want whole milliseconds", c.Retention)
	}
	if err := c.Bound.Validate(); err != nil {
		return c, fmt.Errorf("redisguard: Config.Bound: %w", err)
	}
	return c, nil
}
