package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// serverCPU asks a server for its processor time, without the library and its connections.
func serverCPU(addr string) (time.Duration, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, "INFO CPU\r\n"); err != nil {
		return 0, err
	}
	rd := bufio.NewReader(conn)
	header, err := rd.ReadString('\n')
	if err != nil {
		return 0, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(header, "$")))
	if err != nil {
		return 0, fmt.Errorf("%s answered %q to INFO CPU", addr, header)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(rd, text); err != nil {
		return 0, err
	}
	sum, found := 0.0, 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_sys" && name != "used_cpu_user" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s of %s is %q: %w", name, addr, value, err)
		}
		sum += seconds
		found++
	}
	if found != 2 {
		return 0, fmt.Errorf("INFO CPU of %s has %d of 2 processor times", addr, found)
	}
	return time.Duration(sum * float64(time.Second)), nil
}
