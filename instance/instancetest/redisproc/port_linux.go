package redisproc

import (
	"fmt"
	"os"
	"syscall"
)

// maxPort is the highest port that a server gets: a node of a cluster also listens 10 000
// above its own.
const maxPort = 55535

// Reserve chooses a free port of the loopback interface. Until release is called, only a
// process that asks for this very port can listen there, and nobody else gets it by chance,
// also while no server runs. Connections are refused until one listens.
func Reserve() (addr string, release func(), err error) {
	var passed []int // ports that don't fit; they are kept so that the next one is another
	defer func() {
		for _, fd := range passed {
			_ = syscall.Close(fd)
		}
	}()
	for range 100 {
		fd, port, err := bindAny()
		if err != nil {
			return "", nil, fmt.Errorf("redisproc: looking for a free port: %w", err)
		}
		if port <= maxPort {
			return fmt.Sprintf("127.0.0.1:%d", port), func() { _ = syscall.Close(fd) }, nil
		}
		passed = append(passed, fd)
	}
	return "", nil, fmt.Errorf("redisproc: there is no free port up to %d", maxPort)
}

// bindAny binds a socket to a port and doesn't listen.
//
// Invariant: the kernel gives a port to which a socket is bound neither to a connection nor
// to a socket that asks for any port. With SO_REUSEADDR on both sides, which servers set, it
// gives it to a socket that asks for this port, as long as none listens there.
func bindAny() (fd, port int, err error) {
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socket", err)
	}
	if err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		_ = syscall.Close(fd)
		return 0, 0, os.NewSyscallError("setsockopt", err)
	}
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = syscall.Close(fd)
		return 0, 0, os.NewSyscallError("bind", err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return 0, 0, os.NewSyscallError("getsockname", err)
	}
	return fd, at.(*syscall.SockaddrInet4).Port, nil
}
