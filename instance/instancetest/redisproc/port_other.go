//go:build unix && !linux

package redisproc

import (
	"fmt"
	"net"
)

// Reserve chooses a free port of the loopback interface. Other systems than Linux can't keep
// it for a server, so another process may take it before the server does.
func Reserve() (addr string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("redisproc: looking for a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), func() {}, nil
}
