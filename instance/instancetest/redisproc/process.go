//go:build unix

package redisproc

import "time"

// AwaitStop waits until a process has come to a stop after a SIGSTOP, or is gone. It reports
// whether it has stopped.
func AwaitStop(pid int, gone <-chan struct{}) bool {
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for deadline := time.Now().Add(startTimeout); !stopped(pid); {
		select {
		case <-gone:
			return false
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
