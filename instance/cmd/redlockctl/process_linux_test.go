package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	t.Parallel()
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
