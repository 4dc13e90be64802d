package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

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

// On a terminal the command reads what is typed, and Ctrl-C reaches it once: the terminal sends it
// to redlockctl, too, which doesn't pass it on.
func TestCommandOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const script = `trap 'n=$((n+1))' INT; n=0; read word; echo "read $word"
while [ $n = 0 ]; do sleep 0.05; done
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done # time for another one
exit $n`
	keyboard, tty := terminal(t)
	r := w.prepare("lock", "k", "--", "sh", "-c", script)
	r.cmd.Stdin, r.cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r.begin()
	_, err := keyboard.WriteString("hello\n")
	require.NoError(t, err)
	assert.Equal(t, "read hello", r.line())
	_, err = keyboard.WriteString("\x03")
	require.NoError(t, err)
	ended := r.wait().expect(1)
	assert.False(t, strings.Contains(ended.stderr, "signal"), ended.stderr)
}
