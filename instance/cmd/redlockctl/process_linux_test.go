package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// terminal makes a terminal: what is written to the keyboard is typed there.
func terminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}

// countEnv is set for a command that reads a word, and exits with the number of its SIGINTs.
const countEnv = "REDLOCKCTL_TEST_COUNT"

func init() {
	// redlockctl itself has it, too, and a parent that is this binary.
	if os.Getenv(countEnv) == "" || os.Getenv(keyEnv) == "" {
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT)
	var word string
	_, err := fmt.Scan(&word)
	fmt.Println("read", word, err)
	<-signals
	n := 1
	for late := time.After(500 * time.Millisecond); ; {
		select {
		case <-signals:
			n++
		case <-late:
			os.Exit(n)
		}
	}
}

// On a terminal the command reads what is typed, and Ctrl-C reaches it once: the terminal sends it
// to redlockctl, too, which doesn't pass it on.
func TestCommandOnATerminal(t *testing.T) {
	w := newWorld(t)
	keyboard, tty := terminal(t)
	r := w.prepare("lock", "k", "--", os.Args[0])
	r.cmd.Env = append(r.cmd.Env, countEnv+"=1")
	r.cmd.Stdin, r.cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r.begin()
	_, err := keyboard.WriteString("hello\n")
	require.NoError(t, err)
	assert.Equal(t, "read hello <nil>", r.line())
	_, err = keyboard.WriteString("\x03")
	require.NoError(t, err)
	ended := r.wait().expect(1)
	assert.False(t, strings.Contains(ended.stderr, "signal"), ended.stderr)
}

// job starts redlockctl as a job of a shell with a terminal, as the last command of a pipeline. The
// shell prints the job's status when it ends or stops, and ends itself after a key.
func (w *world) job(tty *os.File, script string) *running {
	w.t.Helper()
	r := w.prepare("lock", "k", "--", "sh", "-c", script)
	const shell = `true | "$0" "$@"` + "\necho status $?\nread key\n"
	dash, err := exec.LookPath("dash")
	if os.Getenv(instancetest.RequireEnv) == "1" {
		require.NoError(w.t, err)
	} else if err != nil {
		w.t.Skip("no dash, and other shells treat jobs differently")
	}
	r.cmd.Path = dash
	r.cmd.Args = append([]string{"dash", "-mc", shell}, r.cmd.Args...)
	r.cmd.Stdin = tty
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r.begin()
	return r
}

// stops waits until processes are stopped.
func stops(t *testing.T, pids ...string) {
	t.Helper()
	for _, text := range pids {
		require.True(t, redisproc.AwaitStop(pid(t, text)), text)
	}
}

// A pipeline is a job like others: the command reads from the terminal, Ctrl-C ends it, and Ctrl-Z
// stops it together with redlockctl.
func TestPipelineOnATerminal(t *testing.T) {
	w := newWorld(t)
	interrupted := fmt.Sprint("status ", exitSignal+int(syscall.SIGINT))
	for _, test := range []struct {
		name, script string
		then         func(r *running, keyboard *os.File, command, redlockctl string)
	}{
		{"Ctrl-Z", `echo up $$ $PPID; exec sleep 600`, func(r *running, keyboard *os.File, command, redlockctl string) {
			_, err := keyboard.WriteString("\x1a")
			require.NoError(t, err)
			stops(t, redlockctl, command)
			require.Equal(t, fmt.Sprint("status ", exitSignal+int(syscall.SIGTSTP)), r.line())
			require.NoError(t, syscall.Kill(pid(t, redlockctl), syscall.SIGKILL)) // and the kernel ends the command
		}},
		{"Ctrl-C", `echo up $$ $PPID; read word </dev/tty; echo read $word; exec sleep 600`, func(r *running, keyboard *os.File, _, _ string) {
			_, err := keyboard.WriteString("hello\n")
			require.NoError(t, err)
			require.Equal(t, "read hello", r.line())
			_, err = keyboard.WriteString("\x03")
			require.NoError(t, err)
			require.Equal(t, interrupted, r.line())
		}},
		{"Ctrl-C while the command is stopped", `echo up $$ $PPID; kill -STOP $$; exec sleep 600`, func(r *running, keyboard *os.File, command, _ string) {
			stops(t, command)
			_, err := keyboard.WriteString("\x03")
			require.NoError(t, err)
			require.Equal(t, interrupted, r.line())
		}},
	} {
		t.Log(test.name)
		keyboard, tty := terminal(t)
		r := w.job(tty, test.script)
		up := strings.Fields(r.line())
		require.Len(t, up, 3)
		test.then(r, keyboard, up[1], up[2])
		_, err := keyboard.WriteString("\n")
		require.NoError(t, err)
		r.wait()
	}
}

// A command that is stopped gets its signals, too: otherwise it would keep the lock.
func TestSignalsEndAStoppedCommand(t *testing.T) {
	w := newWorld(t)
	r := w.start("lock", "k", "--", "sh", "-c", "echo up $$; exec sleep 600")
	up := strings.Fields(r.line())
	require.NoError(t, syscall.Kill(pid(t, up[1]), syscall.SIGSTOP))
	stops(t, up[1]) // before that, SIGTERM would come first
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	r.within(30 * time.Second)
	r.wait().expect(exitSignal + int(syscall.SIGTERM))
	assert.Equal(t, []string{"0", "0", "0"}, trim(w.each("EXISTS", "k")), "it was released")
}

// otherUserEnv is set for a command that becomes root's, as one under sudo does.
const otherUserEnv = "REDLOCKCTL_TEST_OTHER_USER"

func init() {
	if os.Getenv(otherUserEnv) == "" || os.Getenv(keyEnv) == "" {
		return
	}
	if err := syscall.Setreuid(0, 0); err != nil {
		fmt.Println("no", err)
		os.Exit(1)
	}
	fmt.Println("up", os.Getpid())
	_ = syscall.Exec("/bin/sleep", []string{"sleep", "600"}, os.Environ())
}

// A command that runs as another user can't be ended. redlockctl says so at once, and doesn't claim that it ended it.
func TestCommandOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that becomes another user's")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "redlockctl") //nolint:usetesting // only root may enter the directory of t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // another user runs what is in it
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	command := filepath.Join(dir, "command")
	require.NoError(t, os.WriteFile(command, program, 0o600))
	require.NoError(t, os.Chown(command, 0, nobody))
	require.NoError(t, os.Chmod(command, os.ModeSetuid|0o750)) //nolint:gosec // as sudo is, but nobody else may run it
	w := newWorld(t)
	// lasts has a command outlive its lease, which ends after then, and returns what redlockctl says until the command has
	// ended, too.
	lasts := func(then func(r *running)) string {
		t.Helper()
		r := w.prepare("lock", "k", "--", command)
		r.cmd.Path = "/proc/self/exe" // the program itself may be in such a directory
		r.cmd.Env = append(r.cmd.Env, otherUserEnv+"=1")
		r.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		reader := pipeInto(t, r, false)
		r.begin()
		up := strings.Fields(r.line())
		if up[0] != "up" {
			t.Skip("a program can't become another user's here: ", up)
		}
		require.NoError(t, r.cmd.Stderr.(*os.File).Close())
		then(r)
		require.NoError(t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
		lines, said := bufio.NewReader(reader), ""
		for !strings.Contains(said, "it can't be ended") {
			line, err := lines.ReadString('\n')
			require.NoError(t, err, said)
			said += line
		}
		time.Sleep((&options{ttl: ttl, grace: ttl / 3}).margin()) // which is at most left of the lease
		require.NoError(t, syscall.Kill(pid(t, up[1]), syscall.SIGKILL))
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		r.wait().expect(exitLost)
		return said + string(rest)
	}
	const (
		why    = ": operation not permitted, because it runs as another user; start it as sudo redlockctl lock"
		worked = "the command worked on without the lock until it ended on its own"
	)

	said := lasts(func(r *running) {
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
		w.each("SET", "k", "something else")
	})
	for _, text := range []string{`can't send the command the signal "terminated"` + why, `the command goes on, and soon without the lock on "k": it can't be ended` + why, worked} {
		assert.Contains(t, said, text)
	}
	assert.NotContains(t, said, "ended by SIGKILL")
	w.each("DEL", "k")

	// A server that can't be reached at the end says nothing about a lease that was over.
	said = lasts(func(*running) {
		w.servers[0].Kill()
		w.servers[1].Kill()
	})
	assert.Contains(t, said, worked)
	assert.NotContains(t, said, "the lease was valid")
}
