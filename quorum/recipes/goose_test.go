package recipes_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"github.com/redquorum/redlock/quorum"
)

// gooseLock is a locker for goose (goose.WithSessionLocker). Its Coordinator's terms have KeepAlive.
// Make one for each provider.
type gooseLock struct {
	locks *quorum.Coordinator
	lease *quorum.Lease
}

func (g *gooseLock) SessionLock(ctx context.Context, _ *sql.Conn) (err error) {
	g.lease, err = g.locks.Acquire(ctx, "migrations")
	return err
}

func (g *gooseLock) SessionUnlock(ctx context.Context, _ *sql.Conn) error {
	return g.lease.Release(ctx) // quorum.ErrNotHeld if the lock was lost meanwhile
}

var _ lock.SessionLocker = (*gooseLock)(nil)

// Three processes migrate one database at once. Each migration is applied by one of them, and never
// two migrate at the same time.
func TestGoose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	servers := newServers()
	migrations := fstest.MapFS{
		"1_accounts.sql": {Data: []byte("-- +goose Up\nCREATE TABLE accounts (id INTEGER PRIMARY KEY);\n")},
		"2_balance.sql":  {Data: []byte("-- +goose Up\nALTER TABLE accounts ADD COLUMN balance INTEGER;\n")},
	}
	var applied notes[int64]
	inside := make(chan struct{}, 1)
	var all sync.WaitGroup
	var processes []*quorum.Coordinator
	for range 3 {
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
		require.NoError(t, err)
		defer db.Close() //nolint:errcheck // a test
		locks := servers.process(t, slowly)
		processes = append(processes, locks)
		locker := watched{&gooseLock{locks: locks}, inside, t}
		provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations, goose.WithSessionLocker(locker))
		require.NoError(t, err)
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			results, err := provider.Up(ctx)
			assert.NoError(t, err)
			for _, r := range results {
				applied.add(r.Source.Version)
			}
		})
	}
	all.Wait()
	require.Equal(t, []int64{1, 2}, applied.list())
	servers.requireFree(t, processes)
}

// watched notes that nobody else is inside.
type watched struct {
	lock.SessionLocker
	inside chan struct{}
	t      *testing.T
}

func (w watched) SessionLock(ctx context.Context, conn *sql.Conn) error {
	err := w.SessionLocker.SessionLock(ctx, conn)
	if err == nil {
		select {
		case w.inside <- struct{}{}:
		default:
			w.t.Error("two are inside")
		}
	}
	return err
}

func (w watched) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	<-w.inside
	return w.SessionLocker.SessionUnlock(ctx, conn)
}
