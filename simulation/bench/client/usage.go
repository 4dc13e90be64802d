package client

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// usage is the processor time that was used up to a moment.
type usage struct {
	at      time.Time
	client  time.Duration // of this process
	servers time.Duration // of all servers
}

func used(addrs []string) (usage, error) {
	var servers time.Duration
	for _, addr := range addrs {
		of, err := serverCPU(addr)
		if err != nil {
			return usage{}, err
		}
		servers += of
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return usage{}, err
	}
	return usage{time.Now(), time.Duration(own.Utime.Nano() + own.Stime.Nano()), servers}, nil
}

// serverCPU asks a server for its processor time, on a connection of its own.
func serverCPU(addr string) (time.Duration, error) {
	text, err := redisproc.AskAt(addr, "INFO", "CPU")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		_, rest, _ := strings.Cut(text, "\n"+name+":")
		value, _, _ := strings.Cut(rest, "\r")
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s of %s is %q: %w", name, addr, value, err)
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}
