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
	for {
		args, err := readCommand(rd)
		if err != nil {
			return
		}
		var reply string
		switch strings.ToUpper(args[0]) {
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
		text, end := strings.CutSuffix(reply, hangUp)
		if _, err := conn.Write([]byte(text)); err != nil || end {
			return
		}
	}
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

// scriptReply is a script's answer to EVALSHA's or EVAL's arguments for one request; a script for
// many requests gives it in its own form.
func scriptReply(args []string, outcome, text string, ttl int, token string) string {
	text = fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	switch script := listOf(args); {
	case script == acquireScript && outcome == "1":
		return listReply(args, ":"+token+"\r\n")
	case script == acquireScript:
		return listReply(args, fmt.Sprintf("*4\r\n:%s\r\n%s:%d\r\n:%s\r\n", outcome, text, ttl, token))
	case script != nil && outcome != "0" && outcome != "1":
		return listReply(args, ":"+outcome+"0x\r\n")
	case script != nil:
		return listReply(args, ":"+outcome+"\r\n")
	}
	return fmt.Sprintf("*7\r\n:%s\r\n:%s\r\n%s:%d\r\n:%s\r\n:1700000000\r\n:250\r\n", nonceOf(args), outcome, text, ttl, token)
}

func listReply(args []string, element string) string {
	nonce := nonceOf(args)
	return fmt.Sprintf("*%d\r\n$%d\r\n%s\r\n:1700000000000250\r\n%s", listHead+1, len(nonce), nonce, element)
}

// listOf is the script that a command runs, if it is a script for many requests.
func listOf(args []string) *script {
	for _, s := range []*script{acquireScript, extendScript, releaseScript} {
		if args[1] == s.sha || args[1] == s.source {
			return s
		}
	}
	return nil
}

func nonceOf(args []string) string {
	keys, err := strconv.Atoi(args[2])
	if err != nil {
		panic(err)
	}
	return args[3+keys]
}
