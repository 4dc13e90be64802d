package redisguard

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
)

// defaultPrefix is the prefix of the marks' keys unless Config sets another.
const defaultPrefix = "fence:"

// minRetention is the shortest Config.Retention other than 0.
const minRetention = time.Minute

// Scripter is what the guard needs of a client; *redis.Client and
// *redis.ClusterClient implement it. A *redis.Ring is refused: it moves a key to
// another server as soon as this process can't reach the first one, where the mark
// is missing or another one. So don't wrap a client that chooses the server itself.
// Do not pass a pipeline: it returns before the
// server has replied, and the guard treats that as an error.
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
	// give the client MaxRetries -1, and a *redis.ClusterClient MaxRedirects -1
	// as well, which repeats in the same way. Then a call for a slot that has
	// moved fails with MOVED, and may be repeated.
	Client Scripter

	// Prefix begins the key of every mark; "" means "fence:". All guards of
	// a resource must have the same one, and no other data may use it: Set and
	// Run refuse keys that begin with it. Braces may only stand around a hash tag
	// at its beginning, as in "{shop}:fence:". Therefore two resources never share
	// a key, whatever their prefixes.
	Prefix string

	// Retention is how long a mark is kept after it was last shown a token that
	// passed: 0, the default, forever, else a minute or more, in whole
	// milliseconds. A guard never shortens the time that a mark has left: if
	// guards of one resource differ, the longest retention holds, and a permanent
	// mark stays permanent.
	//
	// An expired mark is forgotten: a holder that was paused for longer passes with
	// its old token, and a pause has no upper bound. A mark takes about 100 bytes.
	// Set a retention only if resource names are never reused and the resources
	// cannot be written to when it ends. Set it well above the longest pause of a
	// holder, including virtual machines suspended over a weekend. After a change
	// to 0, a mark becomes permanent when it is next shown a token.
	Retention time.Duration

	// Bound limits the tokens that the guard accepts. The zero Bound is right for
	// tokens of this module. It uses the clock of this process, not the server's,
	// see fencing.Bound.
	Bound fencing.Bound
}

// sharder is a *redis.Ring, or what embeds one. In a cluster the servers decide where a key is.
type sharder interface{ SetAddrs(addrs map[string]string) }

var prefixes = regexp.MustCompile(`^(\{[^{}]+\})?[^{}]*$`)

// validate fills in the defaults.
func (c Config) validate() (Config, error) {
	if c.Client == nil {
		return c, fmt.Errorf("redisguard: Config.Client is nil; pass a client of the server that keeps the marks")
	}
	if v := reflect.ValueOf(c.Client); v.Kind() == reflect.Pointer && v.IsNil() {
		return c, fmt.Errorf("redisguard: Config.Client is a nil %T; pass a client of the server that keeps the marks", c.Client)
	}
	if _, ok := c.Client.(sharder); ok {
		return c, fmt.Errorf("redisguard: Config.Client is a %T, which takes another server for a key when it can't reach the first: each would keep a mark of its own, and a stale token would pass; pass a *redis.Client of one server, or a *redis.ClusterClient", c.Client)
	}
	c.Prefix = cmp.Or(c.Prefix, defaultPrefix)
	// With braces anywhere else, "fence:" with resource "a}:{b" and "fence:{a}:"
	// with resource "b" would share a key.
	if !prefixes.MatchString(c.Prefix) {
		return c, fmt.Errorf("redisguard: Config.Prefix is %q, want no braces, or one hash tag at its beginning as in \"{shop}:fence:\"", c.Prefix)
	}
	switch {
	case c.Retention == 0:
	case c.Retention < minRetention:
		return c, fmt.Errorf("redisguard: Config.Retention is %v, want 0 (forever) or at least %v", c.Retention, minRetention)
	case c.Retention%time.Millisecond != 0:
		return c, fmt.Errorf("redisguard: Config.Retention is %v, want whole milliseconds", c.Retention)
	}
	if err := c.Bound.Validate(); err != nil {
		return c, fmt.Errorf("redisguard: Config.Bound: %w", err)
	}
	return c, nil
}
