//go:build unix

package redisproc

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far longer than anything here takes.
const patience = time.Minute

// echo is a server that answers each line with its name and the line.
func echo(t *testing.T, name string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() }) // the links are closed by then
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					fmt.Fprintf(conn, "%s %s\n", name, lines.Text())
				}
				_ = conn.Close()
			})
		}
	})
	return l.Addr().String()
}

// caller is one connection over a link.
type caller struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func call(t *testing.T, l *Link) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &caller{t, conn, bufio.NewReader(conn)}
}

func (c *caller) say(word string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.conn, word)
	require.NoError(c.t, err)
}

func (c *caller) receives(want string) {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, want+"\n", line)
}

func (c *caller) isCut() {
	c.t.Helper()
	_, err := c.in.ReadByte()
	require.Error(c.t, err)
	require.NotErrorIs(c.t, err, net.ErrClosed)
	timeout, ok := err.(net.Error)
	require.False(c.t, ok && timeout.Timeout(), "nothing came, but the connection stands")
}

func link(t *testing.T, target string) *Link {
	t.Helper()
	l, err := NewLink(target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond)
}

// lost returns how many pieces that way were dropped at the gate.
func lost(l *Link, way direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gates[way].lost
}

func TestLinkHoldsAndLoses(t *testing.T) {
	l := link(t, echo(t, "a"))
	c := call(t, l)
	c.say("one")
	c.receives("a one")

	l.Hold(Requests)
	c.say("two")
	eventually(t, func() bool { return l.Waiting(Requests) == 1 })
	require.Equal(t, 1, l.Passed(Requests))
	l.Reopen()
	c.receives("a two")

	l.Hold(Replies)
	c.say("three")
	eventually(t, func() bool { return l.Waiting(Replies) == 1 })
	l.Reopen()
	c.receives("a three")

	l.Drop(Replies)
	c.say("four")
	eventually(t, func() bool { return lost(l, Replies) == 1 })
	l.Reopen()
	l.Miss(Replies)
	c.say("neither")
	eventually(t, func() bool { return lost(l, Replies) == 2 })
	l.Drop(Requests)
	c.say("five")
	eventually(t, func() bool { return lost(l, Requests) == 1 })
	l.Reopen()
	c.say("six")
	c.receives("a six")
}

// Held data arrives, and is answered, although its client has left.
func TestLinkDeliversAfterItsClientHasLeft(t *testing.T) {
	l := link(t, echo(t, "a"))
	c := call(t, l)
	l.Hold(Requests)
	c.say("late")
	eventually(t, func() bool { return l.Waiting(Requests) == 1 })
	require.NoError(t, c.conn.Close())
	l.Reopen()
	eventually(t, func() bool { return l.Passed(Replies) == 1 })
}

func TestLinkTraps(t *testing.T) {
	l := link(t, echo(t, "a"))
	isBad := func(piece []byte) bool { return bytes.Contains(piece, []byte("bad")) }
	c, other := call(t, l), call(t, l)
	caught := l.Trap(isBad)
	c.say("good")
	c.receives("a good")
	c.say("bad one")
	<-caught
	other.say("bad two")
	other.receives("a bad two") // a trap is for the first piece only
	l.Free()
	c.receives("a bad one")

	l.Trap(isBad)
	l.Free() // an empty trap is removed
	c.say("bad four")
	c.receives("a bad four")
}

func TestLinkCutsAndTurns(t *testing.T) {
	first, second := echo(t, "first"), echo(t, "second")
	l := link(t, first)
	c := call(t, l)
	c.say("x")
	c.receives("first x")
	l.Cut()
	c.isCut()
	call(t, l).isCut()
	l.Reopen()
	c = call(t, l)
	c.say("x")
	c.receives("first x")
	l.Switch(second)
	c.say("x")
	c.receives("first x")
	l.Cut()
	l.Reopen()
	c.isCut()
	c = call(t, l)
	c.say("x")
	c.receives("second x")
}

// What is written after a cut reaches nobody, also where the connections are not closed yet.
func TestLinkCutsAtOnce(t *testing.T) {
	l := link(t, echo(t, "a"))
	const turns = 200
	for i := range turns {
		c := call(t, l)
		c.say("early")
		c.receives("a early")
		eventually(t, func() bool { return l.Passed(Requests) == i+1 })
		l.Cut()
		_, _ = fmt.Fprintln(c.conn, "late")
		c.isCut()
		l.Reopen()
	}
	require.NoError(t, l.Close()) // no piece is on its way
	require.Equal(t, turns, l.Passed(Requests))
}

// A distance makes open connections slow, too, and ends at once.
func TestLinkIsFar(t *testing.T) {
	const trip = 60 * time.Millisecond
	l := link(t, echo(t, "a"))
	c := call(t, l)
	c.say("x")
	c.receives("a x")
	l.Far(trip)
	began := time.Now()
	c.say("y")
	c.receives("a y")
	require.GreaterOrEqual(t, time.Since(began), trip)
	began = time.Now()
	other := call(t, l)
	other.say("z")
	other.receives("a z")
	require.GreaterOrEqual(t, time.Since(began), 2*trip)

	l.Far(24 * time.Hour)
	c.say("v")
	other.say("w")
	l.Far(0)
	c.receives("a v")
	other.receives("a w")
	l.Far(24 * time.Hour)
	c.say("u")
	l.Cut()
	c.isCut()
}

// Closing ends held and trapped data.
func TestLinkCloses(t *testing.T) {
	l := link(t, echo(t, "a"))
	held, trapped := call(t, l), call(t, l)
	caught := l.Trap(func(piece []byte) bool { return bytes.Contains(piece, []byte("trap")) })
	trapped.say("trap")
	<-caught
	l.Hold(Requests)
	held.say("hold")
	eventually(t, func() bool { return l.Waiting(Requests) == 1 })
	require.NoError(t, l.Close())
	held.isCut()
	trapped.isCut()
	_, err := net.Dial("tcp", l.Addr())
	require.Error(t, err)
	require.NoError(t, l.Close())
}
