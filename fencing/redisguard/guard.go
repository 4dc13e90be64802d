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
	// ErrCorrupt is wrapped by the error for a mark that holds something else than
	// a token. Nothing is changed. Find out who writes to the guard's keys, and
	// set the mark to the largest token that can have been handed out.
	ErrCorrupt = errors.New("redisguard: the mark is not a token")

	// ErrReservedKey is wrapped by the error for a key of data that begins with
	// the guard's prefix: writing to it could lower a mark.
	ErrReservedKey = errors.New("redisguard: key is reserved for marks")
)

// Guard is a fencing.Guard with its marks in Redis. It is safe for concurrent
// use and holds no state of its own.
//
// Errors of the server and of the client are wrapped and can be inspected with
// errors.Is and As. After one, it is unknown whether the operation was done.
type Guard struct{ config Config }

var _ fencing.Guard = (*Guard)(nil)

// New gives a Guard, or an error that names the field of c that is wrong. It
// does not talk to the server.
func New(c Config) (*Guard, error) {
	c, err := c.validate()
	if err != nil {
		return nil, err
	}
	return &Guard{c}, nil
}

// Key gives the key that holds the mark of a resource, for operators, backups
// and ACL rules.
func (g *Guard) Key(resource string) string { return g.config.Prefix + "{" + resource + "}" }

// Admit implements fencing.Guard.
func (g *Guard) Admit(ctx context.Context, resource string, t fencing.Token) error {
	_, err := g.eval(ctx, admitScript, resource, t, nil, nil)
	return err
}

// Check implements fencing.Guard. For writes to data on the same server use Set
// or Run, which leave no gap between the check and the write.
func (g *Guard) Check(ctx context.Context, resource string, t fencing.Token) error {
	_, err := g.eval(ctx, admitScript, resource, t, nil, nil)
	return err
}

// Set checks t and sets key to value in one step; a refused token leaves the
// key as it is. Like SET, it overwrites a value of any type and removes the
// key's expiry. On a cluster the key must be in the mark's slot, see the package
// documentation; one that begins with the guard's prefix is refused with
// ErrReservedKey.
func (g *Guard) Set(ctx context.Context, resource string, t fencing.Token, key, value string) error {
	_, err := g.eval(ctx, setScript, resource, t, []string{key}, []any{value})
	return err
}

// Run checks t and runs s with keys and args in one step; with a refused token s
// does not run. It gives what s returned, in the types of redis.Cmd.Result; nil
// if s returned nothing, nil or false. An error that s returns or raises comes as one, and the mark
// stays raised then. The keys must be in the mark's slot and must not
// begin with the guard's prefix, as for Set.
func (g *Guard) Run(ctx context.Context, s *Script, resource string, t fencing.Token, keys []string, args ...any) (any, error) {
	if s == nil {
		return nil, fmt.Errorf("redisguard: the script for resource %q is nil; make one with NewScript", resource)
	}
	return g.eval(ctx, s.source, resource, t, keys, args)
}

// eval runs a script with the mark in front of the keys, and the token and the
// retention in front of the arguments.
func (g *Guard) eval(ctx context.Context, s source, resource string, t fencing.Token, keys []string, args []any) (any, error) {
	if err := fencing.Validate(resource, t); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if strings.HasPrefix(k, g.config.Prefix) {
			return nil, fmt.Errorf("%w: %q begins with the prefix %q; name the key otherwise, or give the guard another prefix",
				ErrReservedKey, k, g.config.Prefix)
		}
	}
	// The client may not look at the context before it sends.
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redisguard: token %d not shown to resource %q: %w", uint64(t), resource, err)
	}
	allKeys := append([]string{g.Key(resource)}, keys...)
	allArgs := append([]any{t.String(), strconv.FormatInt(g.config.Retention.Milliseconds(), 10)}, args...)
	reply, err := s.eval(ctx, g.config.Client, allKeys, allArgs)
	if err != nil {
		return nil, fmt.Errorf("redisguard: token %d for resource %q: %w", uint64(t), resource, err)
	}
	return g.verdict(reply, resource, t)
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
	switch word {
	case "passed":
		return rest, nil
	case "stale":
		held, _ := rest.(string)
		highest, err := fencing.ParseToken(held)
		if err != nil || highest <= t {
			break
		}
		return nil, &fencing.StaleError{Resource: resource, Token: t, Highest: highest}
	case "corrupt":
		return nil, fmt.Errorf("%w: key %q holds %q; find out who writes to it", ErrCorrupt, g.Key(resource), rest)
	}
	return nil, fmt.Errorf("redisguard: unexpected reply %v for resource %q; is the client a pipeline?", reply, resource)
}
