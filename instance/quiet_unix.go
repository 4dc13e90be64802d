//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd || solaris || illumos

package instance

import "syscall"

// isQuiet reports whether a connection on which nothing was asked is open and has nothing to
// read. go-redis asks the same of the connections in its pool.
func isQuiet(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && quiet
}
