//go:build unix

package instance

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestRightsThatEndWithinAGrant: an unfinished grant leaves nothing that a later grant would
// misread.
func TestRightsThatEndWithinAGrant(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	admin := asker(t, open(t, s.URL(), Config{}))
	const but = "~* +eval +evalsha +mget +time +incr +decr +del +get +info " // but SET
	for name, test := range map[string]struct {
		rights string // of another user
		have   string
		want   any // in the counter afterwards
	}{
		"may not set it":             {but + "(~k +set)", oldText, oldText},
		"may not set it, lost":       {but + "(~k +set)", "", nil},
		"may not write beside":       {but + "(~k ~{k}:redlock +set)", oldText, "clock"},
		"may not write beside, lost": {but + "(~k ~{k}:redlock +set)", "", "clock"},
		"may not look":               {"~* +@all -get", oldText, oldText},
		"may not have it":            {"~k ~{k}:redlock +@all", oldText, oldText},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(test.rights, "(") {
				instancetest.Needs(t, 7, 0, "rights have selectors")
			}
			admin("FLUSHALL")
			rule := []any{"ACL", "SETUSER", "half", "reset", "on", ">pw"}
			for _, part := range rights.FindAllString(test.rights, -1) {
				rule = append(rule, part)
			}
			admin(rule...)
			if test.have != "" {
				counted(admin, "k", test.have, set1.String(), "one")
			}
			req := acquire("k", value())
			req.Run = runOf(t, open(t, s.URL(), Config{}))
			failed(t, open(t, "redis://half:pw@"+s.Addr(), Config{}).Do(within(t), req), ErrPermission)
			require.Nil(t, admin("GET", "k"), "it isn't left set")
			if test.want == "clock" {
				require.Greater(t, len(tokenIn(admin, "k").(string)), 10, "that it was raised does no harm")
			} else {
				require.Equal(t, test.want, tokenIn(admin, "k"))
			}
			if test.have != "" {
				require.Equal(t, "one", runIn(admin, "k"), "no client was told of the raise")
			}
		})
	}
}

// rights finds the parts of an ACL's rule; a selector is one part.
var rights = regexp.MustCompile(`\([^)]*\)|[^ ]+`)

// TestBadCounters: no request uses a counter that is no token, or changes it.
func TestBadCounters(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, text := range []string{"x", "", "-1", "1.5", "1e3", " 1", "9007199254740992", "99999999999999999999", "0x10"} {
			for _, op := range []wire.Op{wire.Acquire, wire.Look, wire.Restore, wire.Raise} {
				ask("DEL", "k")
				if op == wire.Raise {
					ask("SET", "k", "v")
				}
				counted(ask, "k", text, set1.String(), "one")
				req := request(op, "k", "v")
				req.Fence.Token = 9
				failed(t, r.Do(within(t), req), wire.ErrCounter)
				require.Equal(t, text, tokenIn(ask, "k"), "it is left as it was found")
				require.Equal(t, op == wire.Raise, ask("GET", "k") != nil)
			}
		}
	})
}
