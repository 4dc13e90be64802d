//go:build unix

package instance

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a server with the answers of a test.
type fake struct {
	addr string

	mu    sync.Mutex
	seen  [][]string // every command but the handshake's
	conns int
}

// startFake starts a server that answers each command with answer's result, in wire format; ""
// answers nothing, and hangUp closes.
func startFake(t testing.TB, answer func(args []string) string) *fake {
	t.Helper()
	f := &fake{}
	f.addr = startPeer(t, func(conn net.Conn) {
		f.mu.Lock()
		f.conns++
		f.mu.Unlock()
		f.serve(conn, answer)
	})
	return f
}

// hangUp as an answer closes the connection; behind other text, after it.
const hangUp = "\x00hang up"

func (f *fake) serve(conn net.Conn, answer func([]string) string) {
	rd := bufio.NewReader(conn)
	var queued []string // the replies that EXEC gives
	inside := false
	for {
		args, err := readCommand(rd)
		if err != nil {
			return
		}
		reply, name := "", strings.ToUpper(args[0])
		switch name {
		case "HELLO":
			reply = "-ERR unknown command 'HELLO'\r\n"
		case "PING":
			reply = "+PONG\r\n"
		default:
			f.mu.Lock()
			f.seen = append(f.seen, args)
			f.mu.Unlock()
			reply = answer(args)
		}
		switch {
		case name == "MULTI":
			inside, queued = reply == ok, nil
		case name == "EXEC" && inside:
			if inside = false; reply == "" {
				reply = fmt.Sprintf("*%d\r\n%s", len(queued), strings.Join(queued, ""))
			}
		case inside:
			queued, reply = append(queued, reply), "+QUEUED\r\n"
		}
		text, end := strings.CutSuffix(reply, hangUp)
		if _, err := conn.Write([]byte(text)); err != nil || end {
			return
		}
	}
}

const ok = "+OK\r\n"

// grants answers each command as a server that grants everything.
func grants(args []string) string {
	switch strings.ToUpper(args[0]) {
	case "INCR":
		return fmt.Sprintf(":%d\r\n", old)
	case "GET":
		return "$-1\r\n"
	case "TIME":
		return "*2\r\n" + bulk("1700000000") + bulk("250")
	case "EVALSHA", "EVAL":
		keys, _ := strconv.Atoi(args[2])
		switch args[1] {
		case releaseOneScript.sha, releaseOneScript.source:
			return ":1\r\n"
		case releaseScript.sha, releaseScript.source:
			return fmt.Sprintf("*%d\r\n%s", keys, strings.Repeat(":1\r\n", keys))
		case lookScript.sha, lookScript.source:
			return "*4\r\n:1\r\n$-1\r\n:0\r\n$-1\r\n"
		case extendScript.sha, extendScript.source:
			return fmt.Sprintf("*%d\r\n:1\r\n%s", 1+keys, strings.Repeat(":1\r\n", keys))
		case tickScript.sha, tickScript.source:
			return "*1\r\n:1\r\n"
		}
		return "*2\r\n:1\r\n:1\r\n"
	case "EXEC":
		return ""
	case "WAIT", "PTTL":
		return ":1\r\n"
	}
	return ok
}

// held is a fake server that answers nothing until it is released.
type held struct {
	*fake
	gate chan struct{}
	once sync.Once
}

func startHeld(t testing.TB, answer func(args []string) string) *held {
	h := &held{gate: make(chan struct{})}
	h.fake = startFake(t, func(args []string) string { <-h.gate; return answer(args) })
	t.Cleanup(h.release)
	return h
}

func (h *held) release() { h.once.Do(func() { close(h.gate) }) }

// values are the values of the commands that it has got, in their order.
func (f *fake) values() (values []string) {
	for _, args := range f.commands() {
		for _, arg := range args {
			if len(arg) == valueSize && strings.HasPrefix(arg, "v") {
				values = append(values, arg)
			}
		}
	}
	return values
}

func (f *fake) commands() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]string(nil), f.seen...)
}

func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns
}

func readCommand(rd *bufio.Reader) ([]string, error) {
	var n int
	if _, err := fmt.Fscanf(rd, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		var size int
		if _, err := fmt.Fscanf(rd, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		for read := 0; read < len(b); {
			k, err := rd.Read(b[read:])
			if err != nil {
				return nil, err
			}
			read += k
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

// startPeer starts a server that does something with each connection.
func startPeer(t testing.TB, say func(conn net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				say(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
