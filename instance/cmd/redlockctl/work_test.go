//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// One candidate's command runs at a time, and the next one's when it has ended.
func TestElect(t *testing.T) {
	w := newWorld(t)
	const script = `echo $REDLOCK_TOKEN; exec sleep 600`
	candidate := func() *running { return w.start("elect", "k", "--", "sh", "-c", script) }
	leads := func(r *running) (term uint64) {
		t.Helper()
		_, err := fmt.Sscan(r.line(), &term)
		require.NoError(t, err)
		return term
	}
	leader := candidate()
	first := leads(leader)
	next, told := candidate(), candidate()
	w.awaitWaiters("k", 2)
	require.NoError(t, told.cmd.Process.Signal(syscall.SIGTERM))
	told.wait().expect(exitSignal + int(syscall.SIGTERM))
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGTERM))
	leader.wait().expect(exitSignal + int(syscall.SIGTERM))
	second := leads(next)
	require.Greater(t, second, first)

	// A leader whose lease is lost ends its command, and leads again.
	w.each("SET", "k", "something else", "PX", "4000")
	require.Greater(t, leads(next), second)
	require.NoError(t, next.cmd.Process.Signal(syscall.SIGTERM))
	next.wait().expect(exitSignal+int(syscall.SIGTERM), `the lease on "k" could not be kept`, "by SIGTERM; waiting to lead again")
	for _, value := range w.each("GET", "k") {
		assert.Contains(t, []string{"$-1", "something else"}, value, "it was released")
	}
}

// A command that ends on its own ends elect, also if its lease was lost and nothing has noticed.
func TestLeaderWhoseKeysAreGone(t *testing.T) {
	w := newWorld(t)
	for try := 1; ; try++ {
		r := w.start("elect", "k", "--", "sh", "-c", "echo up; read line; exit 0")
		require.Equal(t, "up", r.line())
		w.each("DEL", "k")
		require.NoError(t, r.stdin.Close())
		ended := r.wait()
		if try < 10 && strings.Contains(ended.stderr, "waiting to lead again") {
			continue // an extension has noticed
		}
		ended.expect(exitLost, "the command no longer had the lock when it ended")
		break
	}
	w.run("elect", "k", "--", "sh", "-c", "exit 7").expect(7)
}

// A leader that was told to end, and ends only because its lease is lost, doesn't lead again.
func TestLeaderThatWasToldToEnd(t *testing.T) {
	w := newWorld(t)
	r := w.start("elect", "k", "--", "sh", "-c", `trap 'echo told' TERM; echo up; while :; do sleep 0.05; done`)
	require.Equal(t, "up", r.line())
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "told", r.line())
	w.each("SET", "k", "something else")
	r.within(30 * time.Second)
	r.wait().expect(exitLost, `the lease on "k" could not be kept`)
}
