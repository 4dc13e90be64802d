//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// childEnv is set for processes of this binary that are redlockctl.
const childEnv = "REDLOCKCTL_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main() // it exits
	}
	instancetest.AtOnce(16)
	if signal.Ignored(os.Interrupt) {
		// A script started this program in its background, and the commands of the tests would inherit
		// that. A signal that a program takes is not ignored in what it starts.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	goleak.VerifyTestMain(m)
}

const password = "s3cret-pa55word"

// The TTL of all locks here, which is MaxTTL, too, and what a request may take: on a busy machine
// much less would be lost, or not answered in time.
const ttl, timeout = 6 * time.Second, time.Second

// world is three servers, which may vote.
type world struct {
	t       *testing.T
	servers []*instancetest.Server
	urls    string
	terms   []string // flags for ttl
}

// newWorld makes the test parallel once its servers are known to clients: so their quarantine ends while
// other tests run.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := startWorld(t)
	w.run("verify")
	t.Parallel()
	return w.voting()
}

func startWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("it waits for leases on real servers")
	}
	w := &world{t: t, servers: instancetest.StartN(t, 3, instancetest.Config{Password: password})}
	var urls []string
	for _, s := range w.servers {
		urls = append(urls, "redis://:"+password+"@"+s.Addr())
	}
	w.urls = strings.Join(urls, ",")
	w.terms = []string{"-max-ttl", ttl.String()}
	return w
}

// voting waits until the quarantine of the servers has ended.
func (w *world) voting() *world {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return w.run("verify").code == exitDone }, 3*time.Minute, 100*time.Millisecond)
	return w
}

// running is a redlockctl that runs.
type running struct {
	w      *world
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	lines  *bufio.Reader // of stdout
	stderr *strings.Builder
	began  time.Time
}

// start starts redlockctl: the command, then the flags that all need, then the rest.
func (w *world) start(command string, args ...string) *running {
	w.t.Helper()
	r := w.prepare(command, args...)
	var err error
	r.stdin, err = r.cmd.StdinPipe()
	require.NoError(w.t, err)
	r.begin()
	return r
}

func (w *world) prepare(name string, args ...string) *running {
	w.t.Helper()
	flags := append([]string{"-timeout", "2500ms"}, w.terms...)
	if slices.ContainsFunc(commands, func(c command) bool { return c.work && c.name == name }) {
		flags = append([]string{"-fixed-address", "-ttl", ttl.String(), "-timeout", timeout.String()}, w.terms...)
	}
	r := &running{w: w, stderr: &strings.Builder{}}
	r.cmd = exec.Command(os.Args[0], append(append([]string{name}, flags...), args...)...)
	r.cmd.Env = append(withoutSettings(), childEnv+"=1", serversEnv+"="+w.urls)
	r.cmd.Stderr = r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from the terminal that runs this test, if there is one
	return r
}

// withoutSettings is the environment without variables such as those that CI gives to tests.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, envPrefix) })
}

// clearSettings does the same for a command that runs in this process.
func clearSettings(t *testing.T) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, envPrefix) {
			t.Setenv(name, "")
		}
	}
}

func (r *running) begin() {
	r.w.t.Helper()
	stdout, err := r.cmd.StdoutPipe()
	require.NoError(r.w.t, err)
	r.stdout, r.lines = stdout.(*os.File), bufio.NewReader(stdout)
	r.within(3 * time.Minute) // rather than to hang
	r.began = time.Now()
	require.NoError(r.w.t, r.cmd.Start())
	r.w.t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // if the test has failed
}

// within bounds the wait for what comes from standard output.
func (r *running) within(d time.Duration) {
	r.w.t.Helper()
	require.NoError(r.w.t, r.stdout.SetReadDeadline(time.Now().Add(d)))
}

// pid is a number that the command has written.
func pid(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// line is the next line of standard output.
func (r *running) line() string {
	r.w.t.Helper()
	line, err := r.lines.ReadString('\n')
	require.NoError(r.w.t, err)
	return strings.TrimSpace(line)
}

// finished is a redlockctl that has ended.
type finished struct {
	t              *testing.T
	code           int
	stdout, stderr string
	took           time.Duration
}

func (r *running) wait() finished {
	r.w.t.Helper()
	out, err := io.ReadAll(r.lines)
	require.NoError(r.w.t, err)
	_ = r.cmd.Wait() // ProcessState says how
	f := finished{r.w.t, r.cmd.ProcessState.ExitCode(), string(out), r.stderr.String(), time.Since(r.began)}
	assert.NotContains(f.t, f.stdout+f.stderr, password)
	return f
}

func (f finished) expect(code int, texts ...string) finished {
	f.t.Helper()
	require.Equal(f.t, code, f.code, "%s%s", f.stdout, f.stderr)
	for _, text := range texts {
		require.Contains(f.t, f.stdout+f.stderr, text)
	}
	return f
}

func (w *world) run(command string, args ...string) finished {
	w.t.Helper()
	r := w.start(command, args...)
	return r.wait()
}

// answered runs redlockctl until enough servers have answered in time, which they may not on a busy machine.
func (w *world) answered(command string, args ...string) (ended finished) {
	w.t.Helper()
	for range 20 {
		if ended = w.run(command, args...); ended.code != exitNoQuorum {
			break
		}
	}
	return ended
}

// client is a client of another process.
func (w *world) client() *quorum.Coordinator {
	w.t.Helper()
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, strings.Split(w.urls, ",")...)
	require.NoError(w.t, err)
	cfg := quorum.Config{TTL: ttl, MaxTTL: ttl, InstanceTimeout: timeout, Owner: "worker-7"}
	cfg.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	c, err := quorum.New(cfg, group.Instances()...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		assert.NoError(w.t, c.Close(context.Background()))
		assert.NoError(w.t, group.Close())
	})
	return c
}

func (w *world) each(args ...string) (replies []string) {
	w.t.Helper()
	for _, s := range w.servers {
		replies = append(replies, s.MustAsk(args...))
	}
	return replies
}

// alive reports whether a process runs, and isn't just waiting for its parent.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, state, _ := strings.Cut(string(stat), ") ") // it follows the name
	return !strings.HasPrefix(state, "Z")
}

func TestBadUsage(t *testing.T) {
	clearSettings(t)
	const secret = "redis://:" + password + "@a:6379"
	for says, args := range map[string]string{
		"usage: redlockctl COMMAND":                            "",
		`redlockctl help lists them`:                           secret,
		"set REDLOCK_SERVERS":                                  "verify",
		"URL 1 of 2: instance: bad server URL":                 "verify -servers " + password + "@a:6379,redis://b",
		"URL 2 of 2: instance: bad server URL":                 "verify -servers redis://a,redis://" + password + "@b",
		"no other process or command sees its locks":           "verify -servers memory://",
		"URLs 1 and 2 are both a:6379":                         "verify -servers redis://a," + secret,
		"the key is a URL; give servers":                       "verify " + secret,
		"which lock? Name its key":                             "inspect",
		"the key is a URL; give servers by -servers or R":      "inspect " + secret,
		"more arguments than inspect takes":                    "inspect k more",
		"NUL and braces are not allowed":                       "inspect {k}",
		"flag provided but not defined: -wiat":                 "lock -wiat 3s k -- true",
		"invalid boolean value with a URL for -json":           "verify -json=" + secret,
		"invalid value with a URL for flag -quorum":            "verify -quorum " + secret,
		"flag -wait: want a time above 0 with its unit, such":  `lock -wait x"_for_` + secret + " k -- true",
		`"0s" for flag -timeout: want a time above 0 with its`: "inspect -timeout 0s k",
		"TTL is 1h0m0s, but MaxTTL is 30s":                     "lock -servers redis://a -ttl 1h k -- true",
		"MaxTTL is 8s and":                                     "lock -servers redis://a -max-ttl 8s -ttl 5s k -- true",
		"the command is missing, as in redlockctl lock":        "lock k true",
		"the command is missing, as in redlockctl elect":       "elect k --",
		"-grace is 6s, want 200ms to 5s, half of -ttl":         "lock -grace 6s k -- true",
		"-grace is 10ms, want 200ms to 5s":                     "lock -grace 10ms k -- true", // SIGKILL needs time
		"-n is 2000 with 1 keys, want 1 to 1024":               "lock -servers redis://a -n 2000 k -- true",
		"-n is 3 with 2 keys, want 1 to 1024 with one key":     "lock -servers redis://a -n 3 k l -- true",
		"more arguments than lock takes":                       "lock 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 -- true",
		`the key "k" is given twice`:                           "lock -servers redis://a k k -- true",
		"Give -every, or -slot, and not both":                  "once -servers redis://a k -- true",
		"Window is 72h0m0s":                                    "once -servers redis://a -every 1h -window 72h k -- true",
		`flag -slot: parsing time "noon"`:                      "once -slot noon k -- true",
		"raise MaxTTL in all clients, or set instance.Co":      "lock -servers redis://a -ttl 30s k -- true",
		"Quorum is 1, want 2 to 3":                             "verify -servers redis://a,redis://b,redis://c -quorum 1",
		`flag -set: want a name, @ and a whole number`:         "verify -servers redis://a -set prod@new",
		"-ca: the file can't be read":                          "verify -servers rediss://a -ca redis://:" + password + "@a",
		"or has no certificate in PEM form":                    "verify -servers rediss://a -ca /dev/null",
		"with a URL for flag -set: want a name, @":             "verify -servers redis://a -set redis://:" + password + "@1",
	} {
		t.Run(says, func(t *testing.T) {
			code, out := inProcess(t, strings.Fields(args))
			assert.Equal(t, exitUsage, code, out)
			assert.Contains(t, out, says)
			assert.NotContains(t, out, password)
		})
	}
	t.Run("environment", func(t *testing.T) {
		for env, says := range map[string]string{
			"REDLOCK_MAX_TTL=soon": `REDLOCK_MAX_TTL: want a time above 0 with its unit`, "REDLOCK_QUORUM=1": "Quorum is 1, want 2 to 3",
			"REDLOCK_SET=prod@new": `REDLOCK_SET: want a name`, "REDLOCK_QUORUM=" + secret: "REDLOCK_QUORUM: parse error",
			"REDLOCK_SERVERS=a": "instance: bad server URL",
		} {
			t.Run(says, func(t *testing.T) {
				name, value, _ := strings.Cut(env, "=")
				t.Setenv(name, value)
				args := "verify"
				if name != serversEnv {
					args += " -servers redis://a,redis://b,redis://c"
				}
				code, out := inProcess(t, strings.Fields(args))
				assert.Equal(t, exitUsage, code, out)
				assert.Contains(t, out, says)
				assert.NotContains(t, out, password)
			})
		}
	})
	// Kubernetes has set one of these, and another redlockctl. A flag overrides its variable, and REDLOCK_TTL is none of verify's.
	for name, value := range map[string]string{"REDLOCK_PORT": "tcp://10.0.0.1:6379", keyEnv: "k", tokenEnv: "7", "REDLOCK_TTL": "1h", "REDLOCK_MAX_TTL": "1ms"} {
		t.Setenv(name, value)
	}
	code, out := inProcess(t, []string{"verify", "-servers", "redis://127.0.0.1:1", "-timeout", "10ms", "-max-ttl", "1m"})
	assert.Equal(t, exitNoQuorum, code, out)
	// A file with the variables may have lines that end with CRLF.
	code, out = inProcess(t, []string{"verify", "-servers", "redis://127.0.0.1:1,\r\nredis://127.0.0.1:2\r\n", "-timeout", "10ms", "-max-ttl", "1m"})
	assert.Equal(t, exitNoQuorum, code, out)
	assert.NotContains(t, out, "URL")
	code, out = inProcess(t, []string{"version"})
	assert.Equal(t, exitDone, code)
	assert.Regexp(t, `^redlockctl \S+ go1\.\S+ \S+/\S+\n$`, out)
	for _, args := range []string{"help", "-h", "lock -h", "verify --help", "release k -h"} {
		code, out := inProcess(t, strings.Fields(args))
		assert.Equal(t, exitDone, code, args)
		assert.Contains(t, out, "usage: redlockctl", args)
	}
	_, out = inProcess(t, []string{"lock", "-h"})
	assert.Contains(t, out, "[REDLOCK_FIXED_ADDRESS]")
}

// inProcess runs redlockctl here, for what starts no process.
func inProcess(t *testing.T, args []string) (code int, out string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was read
	code = run(t.Context(), args, streams{nil, file, file})
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return code, string(text)
}

// Each exit code is in the table, and the table has no others.
func TestExitCodesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, e := range exits {
		listed[e.codes] = true
		assert.True(t, strings.HasSuffix(e.meaning, "."), e.meaning)
	}
	for _, code := range []int{exitDone, exitUnfit, exitTaken, exitNoQuorum, exitLost, exitRefused, exitFailed, exitUsage, exitCannot, exitNotFound} {
		assert.True(t, listed[fmt.Sprint(code)], code)
	}
	assert.Len(t, listed, 12)
}

// The command gets the lock's key, token and deadline, and its status is passed on.
func TestLock(t *testing.T) {
	w := newWorld(t)
	sh := func(script string) finished {
		t.Helper()
		return w.run("lock", "k", "--", "sh", "-c", script)
	}
	began := time.Now()
	first := sh(`echo "$REDLOCK_KEY $REDLOCK_TOKEN $REDLOCK_DEADLINE"; exit 7`).expect(7)
	var key, deadline string
	var token, next uint64
	_, err := fmt.Sscan(first.stdout, &key, &token, &deadline)
	require.NoError(t, err)
	assert.Equal(t, "k", key)
	until, err := time.Parse(time.RFC3339Nano, deadline)
	require.NoError(t, err)
	assert.WithinRange(t, until, began, time.Now().Add(ttl))
	_, err = fmt.Sscan(sh(`echo "$REDLOCK_TOKEN"`).expect(0).stdout, &next)
	require.NoError(t, err)
	assert.Greater(t, next, token)

	sh(`kill -KILL $$`).expect(exitSignal + int(syscall.SIGKILL))
	w.run("lock", "k", "--", "no-such-command").expect(exitNotFound, "can't run the command: executable file not found")
	w.run("lock", "k", "--", "redis://:"+password+"@a").expect(exitNotFound, "can't run the command: no such file") // without the password
	w.run("lock", "k", "--", "/").expect(exitCannot)
	script := filepath.Join(t.TempDir(), "report")
	require.NoError(t, os.WriteFile(script, []byte("echo ran\n"), 0o700)) //nolint:gosec // it is to be run
	w.run("lock", "k", "--", script).expect(exitCannot, "exec format error; a script needs a first line such as #!/bin/sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\r\necho ran\r\n"), 0o700)) //nolint:gosec // it is to be run
	w.run("lock", "k", "--", script).expect(exitNotFound, "no such file or directory; a script needs a first line such as")
	w.run("lock", "-quorum", "3", "k", "--", "true").expect(exitUsage, "clients disagree on the set of instances")
	// The command has longer than a TTL, because the lease is extended.
	sh(fmt.Sprintf("sleep %v", (ttl + time.Second).Seconds())).expect(0)
	assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "k")), "it was released")
}

func trim(replies []string) (plain []string) {
	for _, r := range replies {
		plain = append(plain, strings.TrimPrefix(r, ":"))
	}
	return plain
}

// awaitWaiters waits until so many processes are in the wait queue for a key.
func (w *world) awaitWaiters(key string, n int) (seen inspected) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		text := w.answered("inspect", "-json", key).expect(exitDone).stdout
		require.NoError(w.t, json.Unmarshal([]byte(text), &seen))
		waiting := 0
		for _, s := range seen.Servers {
			waiting += *s.Waiting
		}
		return waiting >= n
	}, 2*time.Minute, 50*time.Millisecond)
	return seen
}

// A lock that is taken is waited for, or not.
func TestLockThatIsTaken(t *testing.T) {
	w := newWorld(t)
	holder := w.start("lock", "-owner", "holder", "k", "--", "sh", "-c", "echo up; read line")
	require.Equal(t, "up", holder.line())
	tired := w.answered("lock", "-wait", "2s", "k", "--", "echo", "ran").expect(exitTaken, "gave up waiting")
	assert.NotContains(t, tired.stdout, "ran")
	quiet := w.answered("lock", "-try", "k", "--", "echo", "ran").expect(exitTaken)
	assert.Empty(t, quiet.stdout+quiet.stderr)

	told := w.start("lock", "k", "--", "true")
	waiter := w.start("lock", "k", "--", "echo", "ran")
	seen := w.awaitWaiters("k", 2)
	require.Equal(t, "held", seen.State)
	require.Equal(t, "holder", seen.Holders[0].Owner)
	require.Len(t, seen.Holders[0].Value, shortValue)
	counters := 0
	for _, s := range seen.Servers {
		if s.Counter != 0 {
			counters++
		}
	}
	require.GreaterOrEqual(t, counters, seen.Quorum)
	w.answered("inspect", "k").expect(exitDone, `"k" is held`, `of owner "holder", note "": on `)

	// One waiter is told to end.
	require.NoError(t, told.cmd.Process.Signal(syscall.SIGTERM))
	told.wait().expect(exitSignal+int(syscall.SIGTERM), "ended by the signal: terminated")

	require.NoError(t, holder.stdin.Close())
	holder.wait().expect(1) // what read says at the end
	waiter.wait().expect(exitDone, "ran")
}

// sleeper is a process that says its ID when signals end it.
const sleeper = `echo up \$\$; exec sleep 60 >/dev/null 2>&1`

// waiter starts a redlockctl that waits for a lock. say returns the next line that it writes to standard
// error.
func (w *world) waiter() (r *running, say func() string) {
	w.t.Helper()
	r = w.prepare("lock", "k", "--", "true")
	reader := pipeInto(w.t, r, false)
	r.begin()
	lines := bufio.NewReader(reader)
	return r, func() string {
		w.t.Helper()
		require.NoError(w.t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
		line, err := lines.ReadString('\n')
		require.NoError(w.t, err)
		return line
	}
}

// Signals are passed on to the command and to what it has started.
func TestSignalsArePassedOn(t *testing.T) {
	w := newWorld(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1} {
		if signal.Ignored(sig) { // SIGHUP, under nohup
			continue
		}
		r := w.start("lock", "k", "--", "sh", "-c", `trap 'exit 9' TERM INT HUP USR1; sh -c "`+sleeper+`" & wait`)
		up := r.line()
		require.NoError(t, r.cmd.Process.Signal(sig))
		r.wait().expect(9)
		if sig == syscall.SIGINT { // a shell has commands in the background ignore it
			require.NoError(t, syscall.Kill(pid(t, strings.Fields(up)[1]), syscall.SIGKILL))
		}
		assert.Eventually(t, func() bool { return !alive(strings.Fields(up)[1]) }, time.Minute, 10*time.Millisecond)
		assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "k")), "it was released")
	}
}

// The lock is released when the command has ended. What the command has left behind goes on without
// the lock, and redlockctl says so.
func TestWhatGoesOnWithoutTheLock(t *testing.T) {
	w := newWorld(t)
	const says = "what the command started goes on without the lock"
	assert.NotContains(t, w.run("lock", "k", "--", "true").expect(exitDone).stderr, says)
	r := w.start("lock", "k", "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo up $!")
	up := strings.Fields(r.line())
	r.wait().expect(exitDone, says)
	require.NoError(t, syscall.Kill(pid(t, up[1]), syscall.SIGKILL))
	assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "k")), "it was released")
}

// pipeInto makes a pipe for standard error. If it is full, what writes to it waits until it is read.
func pipeInto(t *testing.T, r *running, full bool) (reader *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = reader.Close() })
	r.cmd.Stderr = writer
	t.Cleanup(func() { _ = writer.Close() }) // it must be open when redlockctl starts
	if full {
		for n := 1; n > 0; { // until nothing more fits
			require.NoError(t, writer.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
			n, err = writer.Write(make([]byte, 1<<20))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
	}
	return reader
}

// A standard error that nobody reads delays neither the end of the command nor its grace period.
func TestStderrThatNobodyReads(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]bool{"closed": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for try := 1; ; try++ {
				w := startWorld(t).voting()
				r := w.prepare("lock", "-grace", (ttl / 2).String(), "k", "--", "sh", "-c", `exec 2>/dev/null; trap 'echo TERM; exit 0' TERM; sh -c "`+sleeper+`" & while :; do sleep 0.05; done`)
				reader := pipeInto(t, r, full)
				r.begin()
				up := strings.Fields(r.line())
				if !full {
					require.NoError(t, reader.Close())
				}
				w.servers[0].Kill()
				w.servers[1].Kill()
				r.within(30 * time.Second)
				text, err := r.lines.ReadString('\n')
				// A busy machine may stop everything for longer than the grace period.
				if errors.Is(err, io.EOF) && try < 3 {
					continue
				}
				require.Equal(t, "TERM\n", text)
				assert.Eventually(t, func() bool { return !alive(up[1]) }, time.Minute, 10*time.Millisecond, "what the command had started")
				if full {
					go func() { _, _ = io.Copy(io.Discard, reader) }() // it ends with the test
				}
				r.within(time.Minute)
				r.wait().expect(exitLost)
				return
			}
		})
	}
}

// When a majority of the servers dies the lease can't be extended. The command ends before the
// lease does, also one that ignores SIGTERM, with all that it has started.
func TestCommandEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, says string }{
		"obeys":   {`trap 'exit 0' TERM; echo up $$; while :; do sleep 0.05; done`, "the command was ended by SIGTERM"},
		"stopped": {`trap 'exit 0' TERM; echo up $$; kill -STOP $$; while :; do sleep 0.05; done`, "the command was ended by SIGTERM"},
		"ignores": {`trap '' TERM; sh -c "` + sleeper + `" & while :; do sleep 0.05; done`, "the command was ended by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for try := 1; ; try++ {
				w := startWorld(t).voting()
				r := w.start("lock", "k", "--", "sh", "-c", c.script)
				up := r.line()
				w.servers[0].Kill()
				w.servers[1].Kill()
				killed := time.Now()
				ended := r.wait().expect(exitLost, `the lease on "k" could not be kept`)
				took := time.Since(killed)
				assert.Eventually(t, func() bool { return !alive(strings.Fields(up)[1]) }, time.Minute, 10*time.Millisecond)
				// A busy machine may stop everything for longer than the grace period.
				said := strings.Contains(ended.stderr, "the command gets SIGTERM") && strings.Contains(ended.stderr, c.says)
				if said && took < ttl+time.Second || try == 3 {
					ended.expect(exitLost, "the command gets SIGTERM", c.says)
					assert.Less(t, took, ttl+time.Second, "and a second to close, because servers are down")
					return
				}
			}
		})
	}
}

// A lease whose keys were deleted is lost at once.
func TestCommandEndsWhenItsKeysAreGone(t *testing.T) {
	w := newWorld(t)
	r := w.start("lock", "k", "--", "sh", "-c", "echo up; exec sleep 60")
	require.Equal(t, "up", r.line())
	w.each("SET", "k", "something else")
	r.wait().expect(exitLost, `the lease on "k" could not be kept`)

	// Also if the command notices nothing.
	r = w.start("lock", "other", "--", "sh", "-c", "echo up; read line; exit 0")
	require.Equal(t, "up", r.line())
	w.each("DEL", "other")
	require.NoError(t, r.stdin.Close())
	r.wait().expect(exitLost)
}

// If redlockctl is killed, so is the command (on Linux), and the lock is free after the TTL.
func TestKilledRedlockctl(t *testing.T) {
	w := newWorld(t)
	r := w.start("lock", "k", "--", "sh", "-c", "echo up $$; exec sleep 600")
	up := r.line()
	require.NoError(t, r.cmd.Process.Kill())
	if runtime.GOOS != "linux" {
		require.NoError(t, syscall.Kill(pid(t, strings.Fields(up)[1]), syscall.SIGKILL))
	}
	r.wait() // until the command has ended, too, which has its output
	for _, left := range w.each("PTTL", "k") {
		assert.LessOrEqual(t, pid(t, strings.TrimPrefix(left, ":")), int(ttl.Milliseconds()))
	}
	w.each("PEXPIRE", "k", "60000") // longer than a busy machine takes to look
	w.answered("lock", "-try", "k", "--", "true").expect(exitTaken)
	w.each("PEXPIRE", "k", "100")
	w.run("lock", "k", "--", "true").expect(exitDone)
}

func TestNoQuorum(t *testing.T) {
	w := newWorld(t)
	w.run("verify").expect(exitDone, "3 of 3 servers may vote; a quorum is 2")
	young := startWorld(t)
	young.terms = []string{"-max-ttl", "1h"}
	waiter, say := young.waiter()
	assert.Contains(t, say(), "of 3 instances don't vote yet")
	require.NoError(t, waiter.cmd.Process.Signal(syscall.SIGTERM))
	waiter.wait().expect(exitSignal + int(syscall.SIGTERM))

	w.servers[0].Kill()
	w.run("verify").expect(exitUnfit, "2 of 3 servers may vote", "WRONG  "+w.servers[0].Addr(), "connection refused")
	w.answered("inspect", "k").expect(exitFree, `"k" is free`, "not counted: "+w.servers[0].Addr())
	w.run("lock", "k", "--", "true").expect(exitDone)
	w.servers[1].Kill()
	text := w.run("verify", "-json").expect(exitNoQuorum).stdout
	var seen verified
	require.NoError(t, json.Unmarshal([]byte(text), &seen))
	assert.False(t, seen.OK)
	assert.Equal(t, []int{1, 2}, []int{seen.MayVote, seen.Quorum})
	require.Len(t, seen.Servers, 3)
	assert.NotEmpty(t, seen.Servers[0].Errors)
	assert.Empty(t, seen.Servers[2].Errors)
	assert.Contains(t, []string{"redis", "valkey"}, seen.Servers[2].Software)
	w.run("inspect", "k").expect(exitNoQuorum, `"k" may be held: too few servers answered to tell`)
	var unknown inspected
	require.NoError(t, json.Unmarshal([]byte(w.run("inspect", "-json", "k").expect(exitNoQuorum).stdout), &unknown))
	assert.Equal(t, "unknown", unknown.State)
	w.run("lock", "-try", "k", "--", "true").expect(exitNoQuorum)
	w.run("lock", "-wait", "300ms", "k", "--", "true").expect(exitNoQuorum)
	w.run("release", "k").expect(exitNoQuorum)

	// What is wrong is said while it waits, and after a signal, too.
	waiter, say = w.waiter()
	line := say()
	assert.Regexp(t, `waiting: no lock could be taken for \d\S*s: quorum: no quorum of instances .*connection refused`, line)
	require.NoError(t, waiter.cmd.Process.Signal(syscall.SIGTERM))
	for strings.HasPrefix(line, "redlockctl: waiting: ") {
		line = say()
	}
	assert.Regexp(t, `ended by the signal: terminated; last: no quorum of instances .*connection refused`, line)
	waiter.wait().expect(exitSignal + int(syscall.SIGTERM))

	other := *w
	other.urls = strings.ReplaceAll(w.urls, password, "wrong-"+password)
	other.run("verify").expect(exitNoQuorum, "let this user in")
}

// A server that may evict locks votes: verify says what is wrong, and that locks can be taken.
func TestVerifyOfServersThatEvict(t *testing.T) {
	w := newWorld(t)
	for _, s := range w.servers[:2] {
		s.MustAsk("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	}
	ended := w.run("verify").expect(exitUnfit, "3 of 3 servers may vote", "WRONG  "+w.servers[0].Addr(), "WRONG  "+w.servers[1].Addr(), "allkeys-lru")
	assert.NotContains(t, ended.stdout, "NO")
	var seen verified
	require.NoError(t, json.Unmarshal([]byte(w.run("verify", "-json").expect(exitUnfit).stdout), &seen))
	assert.False(t, seen.OK)
	assert.Equal(t, 3, seen.MayVote)
	assert.True(t, seen.Servers[0].Votes)
	assert.NotEmpty(t, seen.Servers[0].Errors)
	w.run("lock", "k", "--", "true").expect(exitDone)

	// One that is full doesn't.
	w.servers[2].MustAsk("CONFIG", "SET", "maxmemory-policy", "noeviction")
	w.servers[2].MustAsk("CONFIG", "SET", "maxmemory", "1")
	w.run("verify").expect(exitUnfit, "2 of 3 servers may vote", "WRONG  "+w.servers[2].Addr()+": it refuses votes now: instance: the server's memory is full; raise maxmemory or make room")
}

// An account that lacks a right that a lock needs isn't passed, and the right is named. One that lacks a right that
// only notifications need is passed with a note.
func TestVerifyChecksRights(t *testing.T) {
	w := newWorld(t)
	verify := func(without string, args ...string) finished {
		t.Helper()
		for i, s := range w.servers {
			args := strings.Fields("ACL SETUSER orders on >" + password + " resetkeys resetchannels ~orders:* ~{orders:*}:redlock ~{orders:*}:redlock:waiters ~{redlock}:served:* &redlock:wake:* " +
				"-@all +multi +exec +evalsha +eval +set +get +getrange +mget +del +incr +pexpire +pttl +exists +time +info +ping +config|get " +
				"+subscribe +publish +lpop +lpush +rpush +lrange +lrem")
			s.MustAsk(slices.DeleteFunc(args, func(right string) bool { return i < 2 && right == without })...)
		}
		as := *w
		as.urls = strings.ReplaceAll(w.urls, "://:", "://orders:")
		return as.run("verify", args...)
	}
	key := []string{"orders:42"}
	assert.NotContains(t, verify("", key...).expect(exitDone, "3 of 3 servers may vote").stdout, "not checked")
	verify("").expect(exitDone, "note   the rights to the locks' keys were not checked; redlockctl verify orders:42")
	wrong := "WRONG  " + w.servers[0].Addr() + ": its user lacks rights that a lock needs; allow it "
	for _, right := range []string{"+multi", "+incr", "+del", "+eval"} {
		verify(right, key...).expect(exitNoQuorum, wrong+right+"\n", "1 of 3 servers may vote")
	}
	verify("+info", key...).expect(exitUnfit, "hides what the quarantine must know", "no permissions to run the 'info' command", "3 of 3 servers may vote")
	verify("", "orders:42", "invoices:42").expect(exitNoQuorum, wrong+"~invoices:42 ~{invoices:42}:redlock\n", "0 of 3")
	verify("~orders:*", key...).expect(exitNoQuorum, wrong+"~orders:42\n")
	verify("~{orders:*}:redlock", key...).expect(exitNoQuorum, wrong+"~{orders:42}:redlock\n")
	verify("~{redlock}:served:*", key...).expect(exitUnfit, wrong+"~"+instance.MarkKey(w.servers[0].Addr())+"\n", "3 of 3 servers may vote")
	note := "note   " + w.servers[0].Addr() + ": waiters poll, because its user lacks rights; allow it "
	verify("+lpush", key...).expect(exitDone, note+"+lpush\n", "3 of 3 servers may vote")
	verify("~{orders:*}:redlock:waiters", key...).expect(exitDone, note+"~{orders:42}:redlock:waiters\n")
	if instancetest.Since(t, 6, 2) {
		verify("&redlock:wake:*", key...).expect(exitDone, note+"&redlock:wake:*\n")
	}
	var seen verified
	require.NoError(t, json.Unmarshal([]byte(verify("+incr", "-json").expect(exitNoQuorum).stdout), &seen))
	assert.Equal(t, [][]string{{"+incr"}, {"+incr"}, {}}, [][]string{seen.Servers[0].MissingRights, seen.Servers[1].MissingRights, seen.Servers[2].MissingRights})
	w.run("verify", "{k}").expect(exitUsage, "braces")
}

// A command that takes no lock works with a MaxTTL of any length, and with any set. It doesn't shut out the programs,
// which have another set.
func TestLooksKeepTheSet(t *testing.T) {
	w := newWorld(t)
	short := *w
	short.terms = []string{"-max-ttl", "3s", "-set", "other@9"}
	for range 2 {
		short.run("verify", "-timeout", "700ms")
		short.answered("inspect", "-timeout", "700ms", "k").expect(exitFree)
		w.run("lock", "k", "--", "true").expect(exitDone)
	}
	short.run("verify", "-timeout", "700ms").expect(exitNoQuorum, `this client has "other@9 N=3 Q=2 MaxTTL=3s"`, "0 of 3 servers may vote")
}

// A deployment's address moves, which bounds the TTL of a lock, and nothing else.
func TestLooksAtADeploymentWithAShortMaxTTL(t *testing.T) {
	clearSettings(t)
	for _, name := range []string{"verify", "inspect k", "release k"} {
		for _, deployment := range []string{"redis://127.0.0.1:1?master_name=m", "redis://127.0.0.1:1?cluster=true"} {
			code, out := inProcess(t, append(strings.Fields(name), "-servers", deployment, "-max-ttl", "8s"))
			assert.Equal(t, exitNoQuorum, code, out)
			assert.NotContains(t, out, "TTL", name)
		}
	}
}

// What the library writes into a lock's key is known to release, whatever the holder's signature.
func TestValuesOfLocks(t *testing.T) {
	t.Parallel()
	const random = "0123456789abcdef0123456789abcdef01234567"
	choose := func(value string, on ...string) (quorum.Holder, error) {
		var found quorum.Inspection
		for _, value := range on {
			found.Holders = append(found.Holders, quorum.Holder{Value: value})
		}
		return (&options{value: value}).choose(found)
	}
	for _, value := range []string{random, random + ":own", random + ":own why: it's Ünal", random + ": a note alone"} {
		holder, err := choose(random[:8], "something else", value)
		require.NoError(t, err)
		assert.Equal(t, value, holder.Value)
	}
	for _, value := range []string{random[1:], random + "x", random + ":", random + ":a\nb"} {
		_, err := choose(value, value)
		require.ErrorContains(t, err, "something else uses the key")
	}
	_, err := choose(random[:7], random)
	require.ErrorContains(t, err, "give -value "+random[:8])
}

func TestStateOfALock(t *testing.T) {
	t.Parallel()
	on := func(n int) []string { return make([]string, n) }
	for _, test := range []struct {
		quorum, held, free, failed int
		want                       string
	}{
		{2, 2, 0, 1, "held"},
		{2, 1, 2, 0, "partly held"},
		{2, 1, 1, 1, "unknown"},
		{2, 0, 2, 1, "free"},
		{2, 0, 1, 2, "unknown"},
		{3, 0, 2, 2, "free"}, // two of four servers are no lock
		{3, 1, 1, 2, "unknown"},
	} {
		found := quorum.Inspection{Quorum: test.quorum, Free: on(test.free), Failed: make([]quorum.Ballot, test.failed)}
		if test.held > 0 {
			found.Holders = []quorum.Holder{{Instances: on(test.held)}}
		}
		assert.Equal(t, test.want, state(found), "%+v", test)
	}
}

// A lock is deleted by hand only by its value, and only if it lives for too long.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	c := w.client()
	take := func(key string) (lease *quorum.Lease, value string) {
		t.Helper()
		lease, err := c.Acquire(ctx, key)
		require.NoError(t, err)
		return lease, lease.Value()
	}
	w.run("release", "free").expect(exitDone, "nothing to delete")

	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { // its expiry is gone, as if clocks had been set back, and so is its holder
		_, value := take("stuck")
		w.each("SET", "stuck", value)
		shown := w.run("release", "stuck").expect(exitRefused, "forever unless its holder extends", "-value "+value[:8], `"worker-7"`)
		assert.NotContains(t, shown.stdout+shown.stderr, value[:16], "the whole value is enough to release it")
		w.run("release", "-value", "00000000", "stuck").expect(exitRefused, "another holder has the lock now")
		done := w.run("release", "-value", value[:8], "stuck").expect(exitDone, "whether the holder", "still works", "tokens", "deleted on "+w.servers[2].Addr())
		assert.Greater(t, done.took, ttl)
		assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "stuck")))
	})
	all.Go(func() { // its holder extends it
		lease, value := take("live")
		lease.KeepAlive()
		w.run("release", "-value", value, "live").expect(exitRefused, "unless its holder is at work")
		// By force it is deleted nevertheless, and the holder finds out.
		w.run("release", "-force", "live").expect(exitRefused, "-value "+value[:8])
		w.run("release", "-force", "-value", value[:8], "live").expect(exitDone, "deleted on")
		assert.ErrorIs(t, lease.Release(ctx), quorum.ErrNotHeld)
	})
	all.Go(func() { // it expires meanwhile
		_, value := take("dying")
		w.each("SET", "dying", value, "PX", "8000") // longer than a busy machine takes to look
		w.run("release", "-max-ttl", "10s", "-value", value[:8], "dying").expect(exitDone, "nothing was deleted: the value is on no server any more")
	})
	all.Go(func() { // it is no lock
		w.each("SET", "foreign", "somebody's data")
		w.run("release", "-force", "-value", "somebody", "foreign").expect(exitRefused, "something else uses the key")
		assert.Equal(t, []string{"somebody's data", "somebody's data", "somebody's data"}, w.each("GET", "foreign"))
	})
}

// A release waits for long enough, also with a MaxTTL that is shorter than that of the clients.
func TestLongestMaxTTL(t *testing.T) {
	t.Parallel()
	found := quorum.Inspection{Runs: []wire.Run{"", "abc", wire.MarkOf("r", "1", "prod@7 N=3 Q=2 MaxTTL=30s")}}
	for mine, want := range map[time.Duration]time.Duration{2 * time.Second: 30 * time.Second, time.Minute: time.Minute} {
		assert.Equal(t, want, longestMaxTTL(mine, found))
	}
}

// A key that its holder extends lives for no longer than MaxTTL.
func TestStuck(t *testing.T) {
	t.Parallel()
	on := func(remaining ...time.Duration) (found quorum.Inspection) {
		for _, left := range remaining {
			found.Votes = append(found.Votes, quorum.Ballot{Vote: wire.Vote{Outcome: wire.Refused, Holder: "v", Remaining: left}})
		}
		found.Votes = append(found.Votes, quorum.Ballot{Vote: wire.Vote{Outcome: wire.Failed}})
		return found
	}
	require.NoError(t, stuck(on(wire.NoExpiry, time.Hour), "v", time.Minute))
	require.NoError(t, stuck(on(time.Second), "another", time.Minute))
	for _, found := range []quorum.Inspection{on(time.Minute), on(wire.NoExpiry, 20*time.Second)} {
		require.ErrorContains(t, stuck(found, "v", time.Minute), "unless its holder is at work and extends it")
	}
}

// A server that had the value, and doesn't answer, may still have it.
func TestReleaseWithASilentServer(t *testing.T) {
	w := newWorld(t)
	value := strings.Repeat("0123456789", 4)
	w.servers[0].MustAsk("SET", "k", value) // for ever
	r := w.prepare("release", "-timeout", "1s", "-value", value, "k")
	reader := pipeInto(t, r, true)
	r.begin()
	for !strings.Contains(r.line(), `"k" is partly held`) { // then it waits until its standard error is read
	}
	w.servers[0].Pause()
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		said <- strings.TrimLeft(string(text), ".")
	}()
	require.NoError(t, r.cmd.Stderr.(*os.File).Close())
	r.wait().expect(exitFailed)
	assert.Contains(t, <-said, "deleted on 0 servers, but perhaps not on all; try again: "+w.servers[0].Addr())
	w.servers[0].Resume()
	w.run("release", "-value", value, "k").expect(exitDone, "deleted on "+w.servers[0].Addr())
}

// A server's error may quote what it was sent: the lock's value, which is enough to release it.
func TestValuesAreNotSaid(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "err"))
	require.NoError(t, err)
	defer file.Close()
	streams{err: file}.say("lock: %v", errors.New("ERR refused: 00112233445566778899aabbccddeeff00112233:own"))
	said, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, "redlockctl: lock: ERR refused: 00112233...:own\n", string(said))
}
