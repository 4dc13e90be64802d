//go:build unix

package redisproc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Ask sends one command over a new connection and returns the first line of the reply, or the
// text of a bulk string. A reply that begins with "-" is an error of the server. Ask uses no client library,
// so that it is independent of the client under test.
func (s *Server) Ask(args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.addr, startTimeout)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(startTimeout))
	rd := bufio.NewReader(conn)
	if s.cfg.Password != "" {
		if line, err := ask(conn, rd, "AUTH", s.cfg.Password); err != nil || line != "+OK" {
			return line, errors.Join(errors.New("AUTH failed"), err)
		}
	}
	return ask(conn, rd, args...)
}

func ask(conn net.Conn, rd *bufio.Reader, args ...string) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := conn.Write(b.Bytes()); err != nil {
		return "", err
	}
	line, err := rd.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	var n int
	if _, other := fmt.Sscanf(line, "$%d", &n); err != nil || other != nil || n < 0 {
		return line, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(rd, text)
	return string(text), err
}

// MustAsk is Ask for a command that must succeed: it returns an error reply as an error.
func (s *Server) MustAsk(args ...string) (string, error) {
	reply, err := s.Ask(args...)
	switch {
	case err != nil:
		return reply, fmt.Errorf("redisproc: %s: %v: %w", s.addr, args, err)
	case strings.HasPrefix(reply, "-"):
		return reply, fmt.Errorf("redisproc: %s: %v answered %s", s.addr, args, reply)
	}
	return reply, nil
}

// AskAt is MustAsk for the server at a TCP address that needs no password.
func AskAt(addr string, args ...string) (string, error) {
	return (&Server{addr: addr}).MustAsk(args...)
}

// Info returns one field of INFO, as in Info("run_id").
func (s *Server) Info(field string) (string, error) {
	text, err := s.MustAsk("INFO")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("redisproc: %s: INFO has no field %s", s.addr, field)
}
