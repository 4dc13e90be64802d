//go:build unix

package redisproc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Reserve chooses a free port of the loopback interface. On Linux, until release is called, only a
// process that asks for this very port can listen there, and nobody else gets it by chance,
// also while no server runs. Connections are refused until one listens. Other systems can't keep a port.
//
// Invariant: Linux gives a port to which a socket is bound neither to a connection nor
// to a socket that asks for any port. With SO_REUSEADDR on both sides, which servers set, it
// gives it to a socket that asks for this port, as long as none listens there.
func Reserve() (addr string, release func(), err error) {
	syscall.ForkLock.RLock() // or a process that starts meanwhile has the socket, too
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return "", func() {}, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "port")
	release = func() { _ = file.Close() }
	err = errors.Join(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, failed := syscall.Getsockname(fd)
	if err = errors.Join(err, failed); err != nil || runtime.GOOS != "linux" {
		release()
	}
	if err != nil {
		return "", func() {}, fmt.Errorf("redisproc: looking for a free port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port), release, nil
}
