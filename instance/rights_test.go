//go:build unix

package instance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
)

// lockRights and notifyRights are what an account for the lock "orders:42" needs, under the address as the name.
var lockRights = strings.Fields("~orders:42 ~{orders:42}:redlock ~{redlock}:served:* +multi +exec +evalsha +eval +set +get +getrange +mget +del +incr +pexpire +pttl +exists +time +info")

var notifyRights = strings.Fields("~{orders:42}:redlock:waiters &redlock:wake:* +ping +subscribe +publish +lpop +lpush +rpush +lrange +lrem")

// TestRights: of an account that lacks one right exactly this one is named, and nothing is changed.
func TestRights(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	all := instancetest.Rights(t, append(slices.Clone(lockRights), notifyRights...)...)
	rights := func(lacks string, keys ...string) instance.Rights {
		t.Helper()
		user := fmt.Sprintf("user%d", time.Now().UnixNano())
		args := []string{"ACL", "SETUSER", user, "on", ">pw", "resetkeys", "resetchannels", "-@all"}
		for _, right := range all {
			if right != lacks {
				args = append(args, right)
			}
		}
		require.Equal(t, "+OK", s.MustAsk(args...))
		r, err := instance.Open("redis://"+user+":pw@"+s.Addr(), instance.Config{})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		found, err := r.Rights(t.Context(), keys...)
		require.NoError(t, err)
		return found
	}
	keep := []string{"SET", "orders:42", "value"}
	s.MustAsk(keep...)
	s.MustAsk("SET", "{orders:42}:redlock", "7")
	s.MustAsk("RPUSH", "{orders:42}:redlock:waiters", "a waiter")
	require.Equal(t, instance.Rights{}, rights("", "orders:42"))
	require.Equal(t, instance.Rights{}, rights(""))
	for _, right := range all {
		mark := right == "~{redlock}:served:*"
		want := instance.Rights{Missing: []string{right}}
		if slices.Contains(notifyRights, right) {
			want = instance.Rights{MissingToNotify: []string{right}}
		}
		switch {
		case mark:
			want.Missing[0] = "~" + instance.MarkKey(s.Addr())
		case right == "+multi":
			want.Unchecked = []string{"all other rights, because the server refuses MULTI"}
		}
		require.Equal(t, want, rights(right, "orders:42"), right)
		if strings.HasPrefix(right, "~") && !mark {
			want = instance.Rights{} // of which lock?
		}
		require.Equal(t, want, rights(right), right)
	}
	require.Equal(t, []string{"~orders:43", "~{orders:43}:redlock"}, rights("", "orders:42", "orders:43").Missing)
	require.Equal(t, []string{"~{orders:43}:redlock:waiters"}, rights("", "orders:42", "orders:43").MissingToNotify)

	require.Equal(t, "value", s.MustAsk("GET", "orders:42"))
	require.Equal(t, "7", s.MustAsk("GET", "{orders:42}:redlock"))
	require.Equal(t, ":1", s.MustAsk("LLEN", "{orders:42}:redlock:waiters"))
	require.Equal(t, ":3", s.MustAsk("DBSIZE"))
}

// TestRightsOfNobody: Rights fails if the server doesn't let the user in.
func TestRightsOfNobody(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Password: "right"})
	for _, url := range []string{"redis://:wrong@" + s.Addr(), "redis://nobody:right@" + s.Addr(), "redis://" + s.Addr()} {
		r, err := instance.Open(url, instance.Config{})
		require.NoError(t, err)
		_, err = r.Rights(t.Context(), "orders:42")
		require.ErrorIs(t, err, instance.ErrAuth, url)
		require.NoError(t, r.Close())
	}
	_, watchers := watched(t, 1)
	r, err := instance.Open("redis://"+watchers[0].Addr()+"?master_name=m&password=wrong", instance.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	_, err = r.Rights(t.Context())
	require.ErrorIs(t, err, instance.ErrAuth)
	require.ErrorContains(t, err, "the master that Sentinel names")
}
