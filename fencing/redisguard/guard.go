package redisguard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/fencing"
)

var (
	// ErrCorrupt is wrapped by the error for a mark that is not a token. Nothing is
	// changed. Find out who writes to the guard's keys, and set the mark to the
	// largest token that may have been issued.
	ErrCorrupt = errors.New("redisguard: the mark is not a token")

	// ErrReservedKey is wrapped by the error for a key of data that begins with
	// the guard's prefix or with "fence:": writing to it could lower a mark.
	ErrReservedKey = errors.New("redisguard: key is reserved for marks")

	// ErrSyntax is wrapped by the error for a Script that is not valid Lua.
	// Nothing was changed.
	ErrSyntax = errors.New("redisguard: the script is not valid Lua")
)

// ScriptError reports that the script of Run failed: it returned an error reply
// or raised an error. The mark stays raised, and the script's earlier writes stay.
type ScriptError struct {
	Text string // the script's error text, such as "STOCK not enough"
}

// Error returns the script's own text.
func (e *ScriptError) Error() string { return "the script failed: " + e.Text }

// Guard is a fencing.Guard with its marks in Redis. It is safe for concurrent
// use and holds no state of its own.
//
// Errors of the server and of the client are wrapped: inspect them with errors.Is
// and errors.As. After such an error, the operation may or may not have been
// executed. Create a Guard with New: every call on the zero Guard fails.
type Guard struct{ config Config }

var _ fencing.Guard = (*Guard)(nil)

// New returns a Guard. An error names the field of c that is invalid. It
// does not contact the server.
func New(c Config) (*Guard, error) {
	c, err := c.validate()
	if err != nil {
		return nil, err
	}
	return &Guard{c}, nil
}

// Key returns the key that holds the mark of a resource, for operators, backups
// and ACL rules.
func (g *Guard) Key(resource string) string { return g.config.Prefix + "{" + resource + "}" }

// Admit implements fencing.Guard.
func (g *Guard) Admit(ctx context.Context, resource string, t fencing.Token) error {
	_, err := g.show(ctx, admitScript, resource, t, nil, nil)
	return err
}

// Check implements fencing.Guard. For writes to data on the same server use Set
// or Run: they check and write in one step.
func (g *Guard) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.Admit(ctx, resource, t)
}

// Set checks t and sets key to value in one step; a refused token leaves the
// key as it is. Like SET, it overwrites a value of any type and removes the
// key's expiry. On a cluster the key must be in the mark's slot, see the package
// documentation; a key that begins with the guard's prefix, or with
// "fence:", is refused with ErrReservedKey.
func (g *Guard) Set(ctx context.Context, resource string, t fencing.Token, key, value string) error {
	_, err := g.show(ctx, setScript, resource, t, []string{key}, []any{value})
	return err
}

// Run checks t and runs s with keys and args in one step; with a refused token s
// does not run. It gives what s returned, in the types of redis.Cmd.Result; nil
// if s returned nothing, nil or false. If s returns or raises an error, the error
// is a *ScriptError with its text, and the mark stays raised. A script that is
// not valid Lua is refused with ErrSyntax. The keys must be in the mark's slot
// and must not be reserved, as for Set.
func (g *Guard) Run(ctx context.Context, s *Script, resource string, t fencing.Token, keys []string, args ...any) (any, error) {
	if s == nil || s.source.text == "" {
		return nil, fmt.Errorf("redisguard: the script for resource %q is nil or empty; make one with NewScript", resource)
	}
	return g.show(ctx, s.source, resource, t, keys, args)
}

// Forget implements fencing.Guard. It deletes the mark's key, whatever it holds:
// redis-cli DEL does the same. A mark that is only too large can be set to the
// present holder's token instead, with redis-cli SET.
func (g *Guard) Forget(ctx context.Context, resource string) (bool, error) {
	if err := fencing.Validate(resource, 1); err != nil {
		return false, err
	}
	reply, err := g.eval(ctx, forgetScript, resource, nil, nil)
	if err != nil {
		return false, fmt.Errorf("redisguard: resource %q not forgotten: %w", resource, err)
	}
	deleted, err := g.verdict(reply, resource, 0)
	return deleted == int64(1), err
}

// show runs a script that checks a token. It puts the token and the retention in
// front of the script's arguments.
func (g *Guard) show(ctx context.Context, s source, resource string, t fencing.Token, keys []string, args []any) (any, error) {
	if g == nil || g.config.Client == nil {
		return nil, errNotMade
	}
	// Checked locally first, so that a refusal costs the server nothing.
	if err := g.config.Bound.Check(resource, t); err != nil {
		return nil, err
	}
	for _, k := range keys {
		for _, prefix := range []string{g.config.Prefix, defaultPrefix} {
			if strings.HasPrefix(k, prefix) {
				return nil, fmt.Errorf("%w: %q begins with the prefix %q; name the key otherwise, or give the guard another prefix",
					ErrReservedKey, k, prefix)
			}
		}
	}
	allArgs := append([]any{t.String(), strconv.FormatInt(g.config.Retention.Milliseconds(), 10)}, args...)
	reply, err := g.eval(ctx, s, resource, keys, allArgs)
	if err != nil {
		return nil, fmt.Errorf("redisguard: token %d for resource %q: %w", uint64(t), resource, err)
	}
	return g.verdict(reply, resource, t)
}

var errNotMade = errors.New("redisguard: the Guard has no client; make it with New")

// eval runs a script with the mark in front of the keys.
func (g *Guard) eval(ctx context.Context, s source, resource string, keys []string, args []any) (any, error) {
	if g == nil || g.config.Client == nil {
		return nil, errNotMade
	}
	if err := ctx.Err(); err != nil { // the client may not look at it before it sends
		return nil, err
	}
	return s.eval(ctx, g.config.Client, append([]string{g.Key(resource)}, keys...), args)
}

// verdict reads the reply of a script. Only an explicit 'passed' lets a token
// pass.
func (g *Guard) verdict(reply any, resource string, t fencing.Token) (any, error) {
	parts, _ := reply.([]any)
	var word string
	var rest any
	if len(parts) > 0 {
		word, _ = parts[0].(string)
	}
	if len(parts) > 1 {
		rest = parts[1]
	}
	text, _ := rest.(string)
	switch word {
	case "passed":
		return rest, nil
	case "stale":
		highest, err := fencing.ParseToken(text)
		if err != nil || highest <= t {
			break
		}
		return nil, &fencing.StaleError{Resource: resource, Token: t, Highest: highest}
	case "corrupt":
		return nil, fmt.Errorf("%w: key %q holds %q; find out who writes to it, then Forget the resource or set the mark by hand", ErrCorrupt, g.Key(resource), rest)
	case "syntax":
		return nil, fmt.Errorf("%w: %s; nothing was changed for resource %q", ErrSyntax, text, resource)
	case "failed":
		return nil, fmt.Errorf("redisguard: token %d for resource %q: %w", uint64(t), resource, &ScriptError{text})
	}
	return nil, fmt.Errorf("redisguard: unexpected reply %v for resource %q; is the client a pipeline?", reply, resource)
}
