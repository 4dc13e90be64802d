package recipes_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/database/stub"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
)

// lockedDriver is a driver for golang-migrate with a lock in place of its own. Its Coordinator's
// terms have KeepAlive, and a MaxWait below Migrate.LockTimeout (15 s): after that time migrate goes
// away, and would leave the lock behind.
type lockedDriver struct {
	database.Driver
	locks *quorum.Coordinator
	lease *quorum.Lease
}

func (d *lockedDriver) Lock() (err error) {
	d.lease, err = d.locks.Acquire(context.Background(), "migrations")
	if errors.Is(err, quorum.ErrTaken) {
		return fmt.Errorf("%w: %w", database.ErrLocked, err)
	}
	return err
}

func (d *lockedDriver) Unlock() error { return d.lease.Release(context.Background()) }

// SetVersion marks the version dirty before each migration, and clean after it. No migration is
// begun without the lock.
func (d *lockedDriver) SetVersion(version int, dirty bool) error {
	if dirty && d.lease.Err() != nil {
		return d.lease.Err()
	}
	return d.Driver.SetVersion(version, dirty)
}

var accounts = fstest.MapFS{
	"1_accounts.up.sql": {Data: []byte("CREATE TABLE accounts (id INTEGER PRIMARY KEY)")},
	"2_balance.up.sql":  {Data: []byte("ALTER TABLE accounts ADD COLUMN balance INTEGER")},
}

func newMigrate(t *testing.T, driver database.Driver) *migrate.Migrate {
	t.Helper()
	source, err := iofs.New(accounts, ".")
	require.NoError(t, err)
	m, err := migrate.NewWithInstance("iofs", source, "locked", driver)
	require.NoError(t, err)
	return m
}

// Three processes migrate one database at once: one does, the others find nothing to do.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	servers := newServers()
	var results notes[error]
	var all sync.WaitGroup
	var processes []*quorum.Coordinator
	for range 3 {
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
		require.NoError(t, err)
		driver, err := sqlite.WithInstance(db, &sqlite.Config{})
		require.NoError(t, err)
		cfg := slowly
		cfg.MaxWait = 4 * time.Minute
		locks := servers.process(t, cfg)
		processes = append(processes, locks)
		m := newMigrate(t, &lockedDriver{Driver: driver, locks: locks})
		m.LockTimeout = 5 * time.Minute
		all.Go(func() {
			results.add(m.Up())
			_, err := m.Close()
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.ElementsMatch(t, []error{nil, migrate.ErrNoChange, migrate.ErrNoChange}, results.list())
	servers.requireFree(t, processes)
}

// Without the lock no further migration is begun, and the version isn't dirty.
func TestMigrateWithoutTheLock(t *testing.T) {
	servers := newServers()
	locks := servers.process(t, slowly)
	inner, err := stub.WithInstance(nil, &stub.Config{})
	require.NoError(t, err)
	driver := &lockedDriver{locks: locks}
	driver.Driver = losing{inner, servers, func() { _ = driver.lease.Extend(t.Context()) }}
	m := newMigrate(t, driver)
	err = m.Up()
	require.ErrorIs(t, err, quorum.ErrLost)
	version, dirty, err := inner.Version()
	require.NoError(t, err)
	require.Equal(t, 1, version)
	require.False(t, dirty)

	// Another process is told that it is locked.
	once := slowly
	once.MaxTries = 1
	other := servers.process(t, once)
	lease, err := other.TryAcquire(t.Context(), "migrations")
	require.NoError(t, err)
	late := &lockedDriver{Driver: inner, locks: servers.process(t, once)}
	err = late.Lock()
	require.ErrorIs(t, err, database.ErrLocked)
	require.NoError(t, lease.Release(t.Context()))
}

// losing is a driver during whose migrations the lock is lost.
type losing struct {
	database.Driver
	servers servers
	notice  func() // that it is lost
}

func (d losing) Run(migration io.Reader) error {
	for _, s := range d.servers.Servers {
		s.Delete("migrations")
	}
	d.notice()
	return d.Driver.Run(migration)
}
