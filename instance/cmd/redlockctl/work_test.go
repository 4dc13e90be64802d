//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One lease is on all keys, and each of n places is a lock.
func TestLockOnSeveralKeysAndPlaces(t *testing.T) {
	w := newWorld(t)
	both := w.start("lock", "b", "a", "--", "sh", "-c", `echo $REDLOCK_KEY; read line`)
	require.Equal(t, "a b", both.line(), "a line each")
	for _, key := range []string{"a", "b"} {
		w.answered("lock", "-wait", "1s", key, "--", "echo", "ran").expect(exitTaken, fmt.Sprintf("%q", key))
	}
	require.NoError(t, both.stdin.Close())
	both.wait().expect(1)
	assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "a", "b")), "they were released")

	var holders []*running
	places := map[string]bool{}
	for range 2 {
		r := w.start("lock", "-n", "2", "k", "--", "sh", "-c", `echo $REDLOCK_KEY; read line`)
		places[r.line()] = true
		holders = append(holders, r)
	}
	assert.Equal(t, map[string]bool{"k/1": true, "k/2": true}, places)
	w.answered("lock", "-try", "-n", "2", "k", "--", "true").expect(exitTaken)
	w.answered("inspect", "k/2").expect(exitDone)
	waiter := w.start("lock", "-n", "2", "k", "--", "echo", "ran")
	for _, r := range holders {
		require.NoError(t, r.stdin.Close())
		r.wait().expect(1)
	}
	waiter.wait().expect(exitDone, "ran")
}

// The job of a slot is begun once, whatever becomes of it.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	at := func(ago time.Duration) string { return time.Now().Add(-ago).Format(time.RFC3339) }
	slot := at(time.Second)
	once := func(args ...string) finished {
		t.Helper()
		return w.run("once", append([]string{"-slot", slot, "report", "--"}, args...)...)
	}
	// What can't be run was not begun, so that another machine may have it.
	script := filepath.Join(t.TempDir(), "report")
	require.NoError(t, os.WriteFile(script, []byte("echo ran\n"), 0o700)) //nolint:gosec // it is to be run
	once(script).expect(exitCannot, "exec format error")

	due, err := time.Parse(time.RFC3339, slot)
	require.NoError(t, err)
	first := once("sh", "-c", `echo $REDLOCK_KEY; exit 7`).expect(7)
	assert.Equal(t, "report@"+due.UTC().Format(time.RFC3339)+"\n", first.stdout)
	again := once("echo", "ran").expect(exitDone)
	assert.Empty(t, again.stdout+again.stderr, "cron would mail it")
	w.run("once", "-slot", at(time.Hour), "report", "--", "echo", "ran").expect(exitFailed, "the slot's window is over")
	w.run("once", "-slot", at(-time.Hour), "report", "--", "echo", "ran").expect(exitFailed, "the slot has not begun")
	w.run("once", "-every", "1s", "report", "--", "echo", "ran").expect(exitDone, "ran")

	// A lease that is lost ends the job, and nobody begins it again.
	r := w.start("once", "-slot", slot, "nightly", "--", "sh", "-c", "echo up $REDLOCK_KEY; exec sleep 600")
	require.Equal(t, "up nightly@"+due.UTC().Format(time.RFC3339), r.line())
	for _, server := range w.servers[:2] {
		server.Pause()
	}
	r.wait().expect(exitLost, "could not be kept")
	for _, server := range w.servers[:2] {
		server.Resume()
	}
	again = w.run("once", "-slot", slot, "nightly", "--", "echo", "ran").expect(exitDone)
	assert.NotContains(t, again.stdout, "ran")
}
